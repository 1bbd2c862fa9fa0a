#include "tessera/model/text/internal/special_tokens.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "absl/strings/match.h"

namespace tessera {
namespace {

bool TouchesLiteral(absl::Span<const TextRange> literal, size_t begin, size_t end) {
  const auto range = std::upper_bound(literal.begin(), literal.end(), begin,
                                      [](size_t position, const TextRange& r) { return position < r.end; });
  return range != literal.end() && range->begin < end;
}

// Returns the length of the longest common prefix of `text` and `other`.
size_t CommonSize(absl::string_view text, absl::string_view other) {
  const size_t most = std::min(text.size(), other.size());
  return static_cast<size_t>(std::mismatch(text.begin(), text.begin() + most, other.begin()).first - text.begin());
}

}  // namespace

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    const bool special = vocabulary.IsSpecial(id) || kind == TokenKind::kUserDefined || kind == TokenKind::kMark;
    if (special && !vocabulary.text(id).empty()) entries_.push_back({id, kNone});
  }
  // If texts are equal, the last id comes first, and is kept.
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    const int order = Text(a).compare(Text(b));
    return order != 0 ? order < 0 : a.token > b.token;
  });
  const auto same = [&](const Entry& a, const Entry& b) { return Text(a) == Text(b); };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  for (int i = 0; i < static_cast<int>(entries_.size()); ++i) {
    int prefix = i - 1;
    while (prefix != kNone && !absl::StartsWith(Text(entries_[i]), Text(entries_[prefix]))) prefix = entries_[prefix].prefix;
    entries_[i].prefix = prefix;
    ++first_[static_cast<uint8_t>(Text(entries_[i])[0]) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

// In the order of texts, every text between a prefix of the rest and the rest itself starts with that prefix, too. Therefore take the last
// entry that is not after the rest. All entries that are prefixes of the rest are prefixes of this entry, too, and no longer than the
// common prefix of the entry and the rest.
std::optional<SpecialTokens::Match> SpecialTokens::LongestAt(absl::string_view text, size_t begin, size_t most,
                                                             const EncodeOptions& options) const {
  const uint8_t byte = static_cast<uint8_t>(text[begin]);
  const int first = first_[byte];
  if (first == first_[byte + 1]) return std::nullopt;
  const absl::string_view rest = text.substr(begin, most);
  const auto after = std::upper_bound(entries_.begin() + first, entries_.begin() + first_[byte + 1], rest,
                                      [&](absl::string_view wanted, const Entry& entry) { return wanted < Text(entry); });
  int at = static_cast<int>(after - entries_.begin()) - 1;
  if (at < first) return std::nullopt;
  const size_t common = CommonSize(rest, Text(entries_[at]));
  for (; at != kNone; at = entries_[at].prefix) {
    const TokenId token = entries_[at].token;
    const size_t size = Text(entries_[at]).size();
    if (size > common) continue;
    const bool user_defined = vocabulary_.kind(token) == TokenKind::kUserDefined;
    if (user_defined || (options.parse_special && !TouchesLiteral(options.literal, begin, begin + size))) {
      return Match{begin, size, token};
    }
  }
  return std::nullopt;
}

// Takes candidates from the longest to the shortest. All matches so far are at least as long as the candidate, so checking its two ends
// shows every overlap. If a candidate would overlap a later match, its start is tried again with the longest text that ends before that
// match. If another match takes some of that room first, that match is at least as long as the candidate, and leaves it less than half the
// room. So a start is tried again at most log2(Vocabulary::kMaxSpecialBytes) times.
std::vector<SpecialTokens::Match> SpecialTokens::FindAll(absl::string_view text, const EncodeOptions& options) const {
  std::map<size_t, std::vector<Match>, std::greater<size_t>> by_size;
  const auto add = [&](size_t begin, size_t most) {
    const std::optional<Match> match = LongestAt(text, begin, most, options);
    if (match.has_value()) by_size[match->size].push_back(*match);
  };
  for (size_t begin = 0; begin < text.size(); ++begin) add(begin, Vocabulary::kMaxSpecialBytes);
  std::vector<Match> matches;
  if (by_size.empty()) return matches;
  std::vector<bool> taken(text.size(), false);
  while (!by_size.empty()) {
    std::vector<Match> candidates = std::move(by_size.begin()->second);
    by_size.erase(by_size.begin());
    std::sort(candidates.begin(), candidates.end(),
              [](const Match& a, const Match& b) { return a.token != b.token ? a.token < b.token : a.begin < b.begin; });
    for (const Match& candidate : candidates) {
      const auto begin = taken.begin() + static_cast<ptrdiff_t>(candidate.begin);
      const auto end = begin + static_cast<ptrdiff_t>(candidate.size);
      if (*begin) continue;
      if (*(end - 1)) {
        add(candidate.begin, static_cast<size_t>(std::find(begin, end, true) - begin));
        continue;
      }
      std::fill(begin, end, true);
      matches.push_back(candidate);
    }
  }
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) { return a.begin < b.begin; });
  return matches;
}

std::vector<TextFragment> SpecialTokens::Split(absl::string_view text, const EncodeOptions& options) const {
  std::vector<TextFragment> fragments;
  size_t done = 0;
  for (const Match& match : FindAll(text, options)) {
    if (match.begin > done) fragments.push_back({text.substr(done, match.begin - done), std::nullopt});
    fragments.push_back({text.substr(match.begin, match.size), match.token});
    done = match.begin + match.size;
  }
  if (done < text.size()) fragments.push_back({text.substr(done), std::nullopt});
  return fragments;
}

}  // namespace tessera
