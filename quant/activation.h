// Rows of activations rounded to 8 or 16 bits in groups of 32, the left operand of every quantized product.
//
//   QuantizedRows rows(storage, in_features);                    // storage: QuantizedRows::BytesFor(rows, in_features) bytes
//   kernels.quantize_row(x, in_features, rows.Row(0));           // quant/matmul_kernels.h
//   kernels.quantize_row_fine(x, in_features, rows.FineRow(0));
//
// A group holds all that any block format needs of it, so rows are rounded once for a query, a key and a value matrix in three
// formats. Numbers (docs/numerics.md): scale = largest magnitude / 127, values rounded to nearest even in [-127, 127]; a group below
// 2^-100 is zero; one NaN or infinity makes the whole row NaN. Fine rows are for the few products whose rounding the logits feel most
// (the head, the values of attention): the same with 127 * 256 in place of 127. A row has room for both. A view: no ownership,
// thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

template <int kValueBits>
struct alignas(64) ActivationGroupOf {
  static constexpr int kBits = kValueBits, kValues = 32, kQuadBytes = 4 * kBits / 8;
  static constexpr int kLargest = 127 << (kBits - 8);  // The magnitude of the largest value.

  // Quad by quad. Values of 8 bits are as they are; those of 16 as the kernels of an instruction set want them (L::Products16).
  int8_t values[static_cast<size_t>(kValues * kBits / 8)];
  float scale;           // The group's scale: x is about scale * value.
  float scaled_sum;      // scale * sum of values, for formats with a minimum.
  // Weights are stored unsigned; where 1, 4, 8, 16, 32 or 128 stands for zero, an integer sum starts at this, a part or a multiple of
  // it, instead of 0.
  int32_t start8;        // -8 * sum of values; likewise below.
  int32_t start16;
  int32_t start128;
  int32_t start32[2];    // One for each half of the group, where 16 values share a scale. -32 times a sum is exact.
  int32_t unused = 0;
};
using ActivationGroup = ActivationGroupOf<8>;
using FineActivationGroup = ActivationGroupOf<16>;
static_assert(sizeof(ActivationGroup) == 64 && sizeof(FineActivationGroup) == 128);

class QuantizedRows {
 public:
  static constexpr int64_t Groups(int64_t in_features) { return (in_features + 31) / 32; }
  // Rows lie an odd number of cache lines apart: at a power of two, all rows of a block would compete for the same cache sets.
  static constexpr int64_t RowStride(int64_t in_features) { return (3 * Groups(in_features) | 1) * 64; }
  static constexpr int64_t BytesFor(int64_t rows, int64_t in_features) { return rows * RowStride(in_features); }

  // REQUIRES: storage is 64-byte aligned and outlives the view.
  QuantizedRows(std::byte* storage, int64_t in_features)
      : storage_(storage), stride_(RowStride(in_features)), fine_(Groups(in_features) * static_cast<int64_t>(sizeof(ActivationGroup))) {}

  ActivationGroup* Row(int64_t row) const { return reinterpret_cast<ActivationGroup*>(storage_ + row * stride_); }
  FineActivationGroup* FineRow(int64_t row) const {
    return reinterpret_cast<FineActivationGroup*>(storage_ + fine_ + row * stride_);
  }
  // What a kernel walks (PanelJob::x): the first group of the first row. Rows lie `stride` bytes apart.
  const std::byte* Rows(bool fine) const { return storage_ + (fine ? fine_ : 0); }
  int64_t stride() const { return stride_; }

 private:
  std::byte* storage_;
  int64_t stride_;
  int64_t fine_;  // Where a row's fine groups begin, behind the others.
};

}  // namespace tessera
