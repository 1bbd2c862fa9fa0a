#include "tessera/apps/lab/papers/sdnpu/rejection_cases.h"

#include <algorithm>
#include <cstddef>

namespace tessera {
namespace {

// Returns the length of the common prefix.
size_t Agreed(absl::Span<const TokenId> a, absl::Span<const TokenId> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// Returns the length of the longest prefix of `segment` that the text has after a few tokens.
size_t LongestInserted(absl::Span<const TokenId> segment, absl::Span<const TokenId> text) {
  size_t longest = 0;
  for (size_t inserted = 1; inserted <= size_t{kMostInserted} && inserted < text.size(); ++inserted) {
    longest = std::max(longest, Agreed(segment, text.subspan(inserted)));
  }
  return longest;
}

}  // namespace

RejectionCase CaseOf(absl::Span<const TokenId> draft, absl::Span<const TokenId> text) {
  const size_t accepted = Agreed(draft, text);
  if (accepted == std::min(draft.size(), text.size())) return RejectionCase::kNone;
  draft.remove_prefix(accepted);
  text.remove_prefix(accepted);
  const size_t missing = LongestInserted(draft, text);
  size_t synonym = 0;
  for (size_t left_out = 1; left_out < draft.size(); ++left_out) {
    synonym = std::max(synonym, LongestInserted(draft.subspan(left_out), text));
  }
  if (std::max(missing, synonym) < size_t{kShortestSegment}) return RejectionCase::kRedundant;
  return missing >= synonym ? RejectionCase::kMissing : RejectionCase::kSynonym;
}

std::vector<TokenId> MainPath(const TokenTree& tree) {
  std::vector<TokenId> path;
  for (int node = 1; node < tree.size() && tree[node].parent == node - 1; ++node) path.push_back(tree[node].token);
  return path;
}

}  // namespace tessera
