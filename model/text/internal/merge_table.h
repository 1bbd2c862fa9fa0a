// When two neighbouring texts merge, by the token that they become: a byte pair encoding's list of merges, made to be filled fast.
//
//   MergeTable table(vocabulary.size(), merges);                  // in the order of the file: the first merges soonest
//   if (const std::optional<uint32_t> rank = table.RankOf(joined, left_bytes)) Use(*rank);
//
// The joined text and where it is cut say what the two texts are. So filling takes no search for either of them, which would be most of
// the time that a tokenizer takes to load, and finding a merge takes one search, of the joined text in the vocabulary.
// Thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/token.h"

namespace tessera {

class MergeTable {
 public:
  struct Merge {
    TokenId joined;       // What the two become; below 0 they do not merge.
    uint32_t left_bytes;  // Of the joined text.
  };
  MergeTable() = default;
  // A merge's rank is its place in the list; of two that say the same the first counts. REQUIRES: joined < tokens; fewer than 2^32 merges.
  MergeTable(int tokens, absl::Span<const Merge> merges);

  // REQUIRES: 0 <= joined < tokens.
  std::optional<uint32_t> RankOf(TokenId joined, uint32_t left_bytes) const;

 private:
  struct Cut {
    uint32_t left_bytes, rank;
    auto operator<=>(const Cut&) const = default;
  };
  std::vector<uint32_t> begins_;  // Where the cuts of each token begin, and the end of the last.
  std::vector<Cut> cuts_;         // By token, then in ascending order.
};

}  // namespace tessera
