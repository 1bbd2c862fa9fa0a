// Merges neighbouring symbols, cheapest pair first, until no pair can be merged: the core of both tokenizer kinds.
//
//   std::vector<MergeSymbol> symbols = {{0, 1}, {1, 1}, {2, 1}};       // "abc", one symbol per byte; linked by MergePairs
//   MergePairs(symbols, [&](const MergeSymbol& left, const MergeSymbol& right) { return CostOf(left, right); });
//   for (int32_t i = 0; i >= 0; i = symbols[i].next) Use(symbols[i]);  // the first symbol always remains
//
// If costs are equal, the leftmost pair goes first. The algorithm is a binary heap over a linked list: O(n log n) for n symbols, even if
// all costs are equal. Thread-safe (no state).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/token.h"

namespace tessera {

struct MergeSymbol {
  uint32_t begin;      // Bytes [begin, begin + size) of the text.
  uint32_t size;       // 0: merged into a symbol on its left.
  TokenId token = -1;  // -1: no token known.
  int32_t previous = -1;
  int32_t next = -1;
};

struct PairMerge {
  double cost;    // Not a NaN.
  TokenId token;  // The token of the merged pair.
};

// A merge in the heap. The merge is stale if one of the two symbols has changed since: then the sizes no longer add up.
struct WaitingMerge {
  double cost;
  int32_t left;
  uint32_t size;
  TokenId token;
};

// Merges pairs until none is left. `find(left, right)` returns std::optional<PairMerge>. REQUIRES: symbols hold adjacent ranges in order,
// fewer than 2^31.
template <typename Find>
void MergePairs(std::vector<MergeSymbol>& symbols, const Find& find) {
  const auto later = [](const WaitingMerge& a, const WaitingMerge& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.left > b.left;
  };
  std::vector<WaitingMerge> heap;
  const auto add = [&](int32_t left) {
    if (left < 0 || symbols[left].next < 0) return false;
    const MergeSymbol& a = symbols[left];
    const MergeSymbol& b = symbols[a.next];
    const std::optional<PairMerge> merge = find(a, b);
    if (merge.has_value()) heap.push_back({merge->cost, left, a.size + b.size, merge->token});
    return merge.has_value();
  };
  const int32_t count = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[i].previous = i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : -1;
  }
  for (int32_t i = 0; i + 1 < count; ++i) add(i);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const WaitingMerge merge = heap.back();
    heap.pop_back();
    MergeSymbol& left = symbols[merge.left];
    if (left.size == 0 || left.next < 0 || left.size + symbols[left.next].size != merge.size) continue;
    MergeSymbol& right = symbols[left.next];
    left.size = merge.size;
    left.token = merge.token;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) symbols[left.next].previous = merge.left;
    if (add(left.previous)) std::push_heap(heap.begin(), heap.end(), later);
    if (add(merge.left)) std::push_heap(heap.begin(), heap.end(), later);
  }
}

}  // namespace tessera
