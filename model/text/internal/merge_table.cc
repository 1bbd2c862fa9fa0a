#include "tessera/model/text/internal/merge_table.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "glog/logging.h"

namespace tessera {

MergeTable::MergeTable(int tokens, absl::Span<const Merge> merges) : begins_(tokens + 1), cuts_(merges.size()) {
  CHECK_LE(merges.size(), std::numeric_limits<uint32_t>::max());
  for (const Merge& merge : merges) {
    if (merge.joined >= 0) ++begins_[merge.joined];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());  // Each range is filled from the end to the start.
  for (size_t rank = merges.size(); rank-- > 0;) {
    const auto& [joined, left_bytes] = merges[rank];
    if (joined >= 0) cuts_[--begins_[joined]] = {left_bytes, static_cast<uint32_t>(rank)};
  }
  // Most tokens have one. A file may have very many merges of one token, which must not make the search slow.
  for (int token = 0; token < tokens; ++token) {
    if (begins_[token + 1] - begins_[token] > 1) std::sort(cuts_.begin() + begins_[token], cuts_.begin() + begins_[token + 1]);
  }
}

std::optional<uint32_t> MergeTable::RankOf(TokenId joined, uint32_t left_bytes) const {
  if (begins_.empty()) return std::nullopt;
  const auto begin = cuts_.begin() + begins_[joined], end = cuts_.begin() + begins_[joined + 1];
  const auto found = std::lower_bound(begin, end, Cut{left_bytes, 0});
  return found == end || found->left_bytes != left_bytes ? std::nullopt : std::optional<uint32_t>(found->rank);
}

}  // namespace tessera
