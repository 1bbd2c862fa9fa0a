// The host device's loops over one row, and over one tile of queries. Each instruction set has one table of loops; all tables compute the
// same bits.
#pragma once

#include <cstdint>

#include "tessera/base/cpu_features.h"
#include "tessera/npu/device.h"
#include "tessera/npu/flash_attention.h"
#include "tessera/npu/graph.h"

namespace tessera {

// Query vectors of one key/value head that walk the cache together: each key is loaded once for all queries. Six accumulators of four
// vectors each leave eight of 32 registers for keys, values and probabilities.
struct AttentionTile {
  static constexpr int kMost = 6;

  int count = 0;
  const float* query[kMost];
  float* y[kMost];
  SlotPath path[kMost];
  int begin[kMost];                 // Positions [begin, end) of the path are attended to.
  int end[kMost];
  KvFormat format = KvFormat::kHalf;
  const std::byte* keys = nullptr;  // The keys of the key/value head, as KvView lays them out.
  const std::byte* values = nullptr;
  const float* key_scales = nullptr;    // One per slot, in the 8-bit format.
  const float* value_scales = nullptr;
  int head_size = 0;
  float scale = 0;
  float* scratch = nullptr;         // AttentionScratch(longest, head_size) floats.
};

// Floats that one tile needs: for each query, scores of `longest` positions, sums of values and, for FP16, a rounded copy.
constexpr int64_t ScoreStride(int64_t longest) { return (longest + 47) / 16 * 16; }
constexpr int64_t AttentionScratch(int64_t longest, int64_t head_size) {
  return AttentionTile::kMost * (ScoreStride(longest) + 2 * KvView::ValueStride(static_cast<int>(head_size)));
}

// The place of one head of a key or a value: number i is at numbers + i * stride, counted in numbers of the format.
struct HeadPlace { KvFormat format; std::byte* numbers; int64_t stride; float* scale; };

struct RopeShape { int heads; int head_size; int dimensions; RopePairs pairs; };

// y[begin..end) += scale * (B inner)[begin..end), in FP32 and fixed order. out_features: columns of B, and of y.
struct AdapterJob {
  const float* inner;     // A x, `rank` numbers.
  int64_t out_features;
  const AdapterProduct& adapter;
  int64_t begin;
  int64_t end;
  float* y;
};

struct RowKernels {
  void (*rms_norm)(const float* x, const float* weight, int64_t columns, float epsilon, float* y);
  void (*add)(const float* a, const float* b, int64_t columns, float* y);
  void (*gated)(const float* gate, const float* up, int64_t columns, Activation activation, float* y);
  void (*rope)(const float* x, const float* cos_sin, RopeShape shape, float* y);
  void (*store_head)(const float* x, int64_t columns, const HeadPlace& to);
  void (*attend)(const AttentionTile& tile);
  // Computes attention as npu/flash_attention.h, `kv_block` positions at a time; tile.scale is in FP16. REQUIRES: the cache is in FP16.
  void (*attend_halves)(const AttentionTile& tile, int kv_block, HmxExp exp);
  // Attention in two steps, for a tile of an FP16 cache whose queries attend to the same positions. score_part computes the scores of
  // positions [begin, end). sum_part computes columns [begin, end) of y from all scores; columns are multiples of 16, rounded up at the
  // head's end. `scores`: ScoreStride(longest) floats per query, from position tile.begin / 16 * 16 on.
  void (*score_part)(const AttentionTile& tile, float* scores, int begin, int end);
  void (*sum_part)(const AttentionTile& tile, const float* scores, int begin, int end);
  // adapt_down: inner = A x, in FP32 and fixed order. adapt_up: y += scale * B inner.
  void (*adapt_down)(const AdapterProduct& adapter, const float* x, int64_t in_features, float* inner);
  void (*adapt_up)(const AdapterJob& job);
};

const RowKernels& RowKernelsFor(KernelPath path);

extern const RowKernels kRowPortable, kRowAvx2, kRowAvx512, kRowNeon;

}  // namespace tessera
