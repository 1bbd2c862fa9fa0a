#include "tessera/model/text/jinja/internal/search.h"

#include <algorithm>
#include <cstring>

namespace tessera::jinja {

Search::Search(absl::string_view wanted, bool from_end) : wanted_(wanted), borders_(wanted.size(), 0) {
  if (from_end) std::reverse(wanted_.begin(), wanted_.end());
  size_t border = 0;
  for (size_t i = 1; i < wanted_.size(); ++i) {
    while (border > 0 && wanted_[i] != wanted_[border]) border = borders_[border - 1];
    if (wanted_[i] == wanted_[border]) ++border;
    borders_[i] = border;
  }
}

bool Search::Feed(char c, size_t& matched) const {
  while (matched > 0 && c != wanted_[matched]) matched = borders_[matched - 1];
  if (c == wanted_[matched]) ++matched;
  return matched == wanted_.size();
}

size_t Search::First(absl::string_view text, size_t from) const {
  if (wanted_.empty()) return from;
  size_t matched = 0;
  for (size_t at = from; at < text.size(); ++at) {
    if (matched == 0) {
      const void* const begin = std::memchr(text.data() + at, wanted_[0], text.size() - at);
      if (begin == nullptr) return kNowhere;
      at = static_cast<size_t>(static_cast<const char*>(begin) - text.data());
    }
    if (Feed(text[at], matched)) return at + 1 - wanted_.size();
  }
  return kNowhere;
}

size_t Search::Last(absl::string_view text) const {
  if (wanted_.empty()) return text.size();
  size_t matched = 0;
  for (size_t left = text.size(); left > 0; --left) {
    if (Feed(text[left - 1], matched)) return left - 1;
  }
  return kNowhere;
}

}  // namespace tessera::jinja
