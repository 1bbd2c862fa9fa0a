// The merges of a byte pair encoding, indexed by the token that a merge makes. Fast to fill.
//
//   MergeTable table(vocabulary.size(), merges);                  // in the order of the file: the first merges soonest
//   if (const std::optional<uint32_t> rank = table.RankOf(joined, left_bytes)) Use(*rank);
//
// The joined text and the place of the cut determine the two parts. Filling therefore needs no search for the parts, which would take most
// of the time of loading a tokenizer. Finding a merge needs one search, for the joined text in the vocabulary. Thread-safe.
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
    TokenId joined;       // The token of the joined text; below 0: no merge.
    uint32_t left_bytes;  // Bytes of the left part.
  };
  MergeTable() = default;
  // A merge's rank is its place in the list; if a merge occurs twice, the first counts. REQUIRES: joined < tokens; fewer than 2^32 merges.
  MergeTable(int tokens, absl::Span<const Merge> merges);

  // REQUIRES: 0 <= joined < tokens.
  std::optional<uint32_t> RankOf(TokenId joined, uint32_t left_bytes) const;

 private:
  struct Cut {
    uint32_t left_bytes, rank;
    auto operator<=>(const Cut&) const = default;
  };
  std::vector<uint32_t> begins_;  // Start of each token's cuts, and the end of the last.
  std::vector<Cut> cuts_;         // By token, then ascending.
};

}  // namespace tessera
