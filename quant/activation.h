// Rows of activations rounded to 8 bits in groups of 32, the left operand of every quantized product.
//
//   QuantizedRows rows(storage, in_features);                   // storage: QuantizedRows::BytesFor(rows, in_features) bytes
//   kernels.quantize_row(x, in_features, /*terms=*/1, rows.Row(0));   // quant/matmul_kernels.h
//
// A group is one cache line and holds all that any block format needs of it, so rows are rounded once for a query, a key and a
// value matrix in three formats. Numbers (docs/numerics.md): scale = largest magnitude / 127, values rounded to nearest even in
// [-127, 127]; a group below 2^-100 is zero; one NaN or infinity makes the whole row NaN. A row may have a second term, what the first
// left over rounded in the same way: about 15 bits in all, for the few products whose rounding the logits feel most (the head,
// the values of attention). A view: no ownership, thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

struct alignas(64) ActivationGroup {
  static constexpr int kValues = 32;

  int8_t values[kValues];
  float scale;           // Of the group: x is about scale * values[i].
  float scaled_sum;      // scale * sum of values, for formats with a minimum.
  // Weights are stored unsigned; where 4, 8, 16, 32 or 128 stands for zero, an integer sum starts at this instead of 0.
  int32_t start8;        // -8 * sum of values; likewise below.
  int32_t start16;
  int32_t start128;
  int32_t start32[2];    // One for each half of the group: Q2_K, Q3_K and Q6_K scale 16 values at a time. -32 times a sum is exact.
  int32_t unused = 0;
};
static_assert(sizeof(ActivationGroup) == 64);

class QuantizedRows {
 public:
  static constexpr int64_t Groups(int64_t in_features) { return (in_features + 31) / 32; }
  // Room for two terms, one after the other. Rows lie an odd number of cache lines apart: at a power of two, all rows of a block
  // would compete for the same cache sets.
  static constexpr int64_t RowStride(int64_t in_features) { return (2 * Groups(in_features) | 1) * 64; }
  static constexpr int64_t BytesFor(int64_t rows, int64_t in_features) { return rows * RowStride(in_features); }

  // REQUIRES: storage is 64-byte aligned and outlives the view.
  QuantizedRows(std::byte* storage, int64_t in_features) : storage_(storage), stride_(RowStride(in_features)) {}

  ActivationGroup* Row(int64_t row) const { return reinterpret_cast<ActivationGroup*>(storage_ + row * stride_); }
  int64_t stride() const { return stride_; }

 private:
  std::byte* storage_;
  int64_t stride_;
};

}  // namespace tessera
