// Numbers in the slots of a KV cache that tell positions, layers and heads apart.
//
//   KvContents<uint16_t> contents(*cache, /*layers=*/2);
//   contents.Write(text, /*from=*/0, /*mark=*/1);                 // as a pass would, to the end of the sequence
//   contents.Expect(text, /*from=*/0, /*to=*/40, /*mark=*/1);
//
// Positions that the cache gave up are skipped. Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <type_traits>

#include "tessera/model/kv_cache.h"

namespace tessera {

// Writes a number for each position to the slots of a path, and reads the numbers back. `mark` distinguishes writers.
template <typename Element>
class KvContents {
 public:
  KvContents(KvCache& cache, int layers) : cache_(cache), layers_(layers) {}

  void Write(KvCache::SequenceId sequence, int from, int mark) {
    Visit(sequence, from, [&](auto& element, int what) { element = static_cast<std::decay_t<decltype(element)>>(what * 3 + mark); });
  }
  void Expect(KvCache::SequenceId sequence, int from, int to, int mark) {
    const auto expect = [&](auto& element, int what) {
      ASSERT_EQ(element, static_cast<std::decay_t<decltype(element)>>(what * 3 + mark));
    };
    Visit(sequence, from, expect, to);
  }

 private:
  template <typename F>
  void Visit(KvCache::SequenceId sequence, int from, F f, int to = -1) {
    const int length = cache_.Length(sequence);
    const KvCache::Paths paths = cache_.PathsOf(sequence, length);
    for (int layer = 0; layer < layers_; ++layer) {
      const KvView view = cache_.View(layer);
      int position = 0;
      for (const SlotRange& range : paths[cache_.GroupOf(layer)]) {
        for (int i = 0; i < range.count; ++i, ++position) {
          if (position < from || (to >= 0 && position >= to) || range.begin == kNoSlot) continue;
          for (int head = 0; head < view.heads(); ++head) VisitSlot(view, head, range.begin + i, position * 7 + head * 5 + layer, f);
        }
      }
    }
  }
  template <typename F>
  void VisitSlot(const KvView& view, int head, int slot, int what, F f) {
    for (int d = 0; d < view.head_size(); ++d) {
      f(view.Keys<Element>(0, head)[view.KeyIndex(slot, d)], what + d);
      f(view.Values<Element>(0, head)[view.ValueIndex(slot, d)], what + d + 1);
    }
    if (view.format() != KvFormat::kInt8) return;
    f(view.KeyScales(0, head)[slot], what);
    f(view.ValueScales(0, head)[slot], what + 1);
  }

  KvCache& cache_;
  const int layers_;
};

}  // namespace tessera
