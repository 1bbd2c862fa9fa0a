// Rows of activations rounded to 8 or 16 bits in groups of 32, the left operand of every quantized product.
//
//   QuantizedRows rows(storage, in_features);                    // storage: QuantizedRows::BytesFor(rows, in_features) bytes
//   kernels.quantize_row(x, in_features, rows.Row(0));           // quant/matmul_kernels.h
//   kernels.quantize_row_fine(x, in_features, rows.FineRow(0));
//
// A group holds all data that any block format needs. So rows are rounded once for query, key and value matrices in three formats. Numbers
// (docs/numerics.md): scale = largest magnitude / 127, and values are rounded to nearest even in [-127, 127]. A group whose largest
// magnitude is below 2^-100 is zero. One NaN or infinity makes the whole row NaN.
//
// Fine rows have 127 * 256 in place of 127. Fine rows are for the few products whose rounding affects the logits most (the head, the values
// of attention). A row has room for both forms. A view: no ownership, thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

template <int kValueBits>
struct alignas(64) ActivationGroupOf {
  static constexpr int kBits = kValueBits, kValues = 32, kQuadBytes = 4 * kBits / 8;
  static constexpr int kLargest = 127 << (kBits - 8);  // The magnitude of the largest value.

  // Quad by quad. Values of 8 bits are stored plainly; values of 16 bits are in the order of the instruction set's kernels (L::Products16).
  int8_t values[static_cast<size_t>(kValues * kBits / 8)];
  float scale;           // The group's scale: x is about scale * value.
  float scaled_sum;      // scale * sum of values, for formats with a minimum.
  // Starts of integer sums for weights stored unsigned, where 1, 4, 8, 16, 32 or 128 stands for zero. A sum starts at one of these fields,
  // or at a part or multiple of a field, instead of 0.
  int32_t start8;        // -8 * sum of values; start16 and start128 likewise.
  int32_t start16;
  int32_t start128;
  int32_t start32[2];    // One for each half of the group, if 16 values share a scale. -32 times a sum is exact.
  int32_t unused = 0;
};
using ActivationGroup = ActivationGroupOf<8>;
using FineActivationGroup = ActivationGroupOf<16>;
static_assert(sizeof(ActivationGroup) == 64 && sizeof(FineActivationGroup) == 128);

class QuantizedRows {
 public:
  static constexpr int64_t Groups(int64_t in_features) { return (in_features + 31) / 32; }
  // Rows are an odd number of cache lines apart. At a power of two, all rows of a block would compete for the same cache sets.
  static constexpr int64_t RowStride(int64_t in_features) { return (3 * Groups(in_features) | 1) * 64; }
  static constexpr int64_t BytesFor(int64_t rows, int64_t in_features) { return rows * RowStride(in_features); }

  // REQUIRES: storage is 64-byte aligned and outlives the view.
  QuantizedRows(std::byte* storage, int64_t in_features)
      : storage_(storage), stride_(RowStride(in_features)), fine_(Groups(in_features) * static_cast<int64_t>(sizeof(ActivationGroup))) {}

  ActivationGroup* Row(int64_t row) const { return reinterpret_cast<ActivationGroup*>(storage_ + row * stride_); }
  FineActivationGroup* FineRow(int64_t row) const {
    return reinterpret_cast<FineActivationGroup*>(storage_ + fine_ + row * stride_);
  }
  // Returns the start of a kernel's walk (PanelJob::x): the first group of the first row. Rows are `stride` bytes apart.
  const std::byte* Rows(bool fine) const { return storage_ + (fine ? fine_ : 0); }
  int64_t stride() const { return stride_; }

 private:
  std::byte* storage_;
  int64_t stride_;
  int64_t fine_;  // Offset of a row's fine groups, behind the other groups.
};

}  // namespace tessera
