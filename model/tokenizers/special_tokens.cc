#include "tessera/model/tokenizers/special_tokens.h"

#include <algorithm>
#include <functional>
#include <map>

namespace tessera {
namespace {

bool TouchesLiteral(absl::Span<const TextRange> literal, size_t begin, size_t end) {
  const auto range = std::upper_bound(literal.begin(), literal.end(), begin,
                                      [](size_t position, const TextRange& r) { return position < r.end; });
  return range != literal.end() && range->begin < end;
}

}  // namespace

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary) : nodes_(1) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const bool user_defined = vocabulary.kind(id) == TokenKind::kUserDefined;
    if ((user_defined || vocabulary.IsSpecial(id)) && !vocabulary.text(id).empty()) {
      Insert(vocabulary.text(id), id, user_defined);
    }
  }
}

void SpecialTokens::Insert(absl::string_view text, TokenId token, bool user_defined) {
  uint32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    uint32_t& next = i == 0 ? roots_[byte] : edges_[uint64_t{node} << 8 | byte];
    if (next == 0) {
      next = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    node = next;
  }
  nodes_[node] = {token, user_defined};
}

std::optional<SpecialTokens::Match> SpecialTokens::LongestAt(absl::string_view text, size_t begin, size_t below_size,
                                                             const EncodeOptions& options) const {
  std::optional<Match> longest;
  const size_t most = std::min(text.size() - begin, below_size - 1);
  uint32_t node = roots_[static_cast<uint8_t>(text[begin])];
  for (size_t size = 1; node != 0 && size <= most; ++size) {
    const Node& here = nodes_[node];
    const bool allowed = here.token >= 0 && (here.user_defined || (options.parse_special &&
                                                                   !TouchesLiteral(options.literal, begin, begin + size)));
    if (allowed) longest = Match{begin, size, here.token};
    if (size == most) break;
    const auto edge = edges_.find(uint64_t{node} << 8 | static_cast<uint8_t>(text[begin + size]));
    node = edge == edges_.end() ? 0 : edge->second;
  }
  return longest;
}

// Takes candidates from the longest to the shortest. A start whose candidate would run into a match comes back with its next
// shorter one. All matches so far are at least as long as the candidate, so looking at its two ends shows every overlap.
std::vector<SpecialTokens::Match> SpecialTokens::FindAll(absl::string_view text, const EncodeOptions& options) const {
  std::map<size_t, std::vector<Match>, std::greater<size_t>> by_size;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (roots_[static_cast<uint8_t>(text[begin])] == 0) continue;
    const std::optional<Match> match = LongestAt(text, begin, text.size() + 1, options);
    if (match.has_value()) by_size[match->size].push_back(*match);
  }
  std::vector<Match> matches;
  if (by_size.empty()) return matches;
  std::vector<bool> taken(text.size(), false);
  while (!by_size.empty()) {
    std::vector<Match> candidates = std::move(by_size.begin()->second);
    by_size.erase(by_size.begin());
    std::sort(candidates.begin(), candidates.end(), [](const Match& a, const Match& b) {
      return a.token != b.token ? a.token < b.token : a.begin < b.begin;
    });
    for (const Match& candidate : candidates) {
      if (taken[candidate.begin]) continue;
      if (taken[candidate.begin + candidate.size - 1]) {
        const std::optional<Match> shorter = LongestAt(text, candidate.begin, candidate.size, options);
        if (shorter.has_value()) by_size[shorter->size].push_back(*shorter);
        continue;
      }
      std::fill_n(taken.begin() + static_cast<ptrdiff_t>(candidate.begin), candidate.size, true);
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
