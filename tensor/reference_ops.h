// The operators of a language model in plain FP32: slow and obviously right. Every kernel is tested against these operators.
//
//   TensorView<const float> w(weights, 1536, 576), x(rows, 4, 576);
//   TensorView<float> y(out, 4, 1536);
//   reference::MatMul(w, x, y);                                      // y[r] = W x[r]
//   reference::RmsNorm(x, norm_weight, /*epsilon=*/1e-5f, /*groups=*/1, normed);
//
// Sums are in double precision where double costs nothing. exp and tanh are the C library's, so the last bits may differ from machine to
// machine. The reference is outside the promise of equal bits (docs/numerics.md). Views are row-major. y may be x if shapes agree, except
// in MatMul and Attend. REQUIRES of all functions: shapes agree with the comments below. Thread-safe (pure functions).
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera::reference {

// y[r] = W x[r], with W [out, in], x [rows, in], y [rows, out]. For a range of outputs, pass W.Rows(...).
void MatMul(TensorView<const float> w, TensorView<const float> x, TensorView<float> y);

// y += scale * B (A x) for one row x [in], y [out], with A [rank, in] and B stored transposed, [rank, out].
void AddLowRank(TensorView<const float> a, TensorView<const float> b, float scale, absl::Span<const float> x,
                absl::Span<float> y);

// y = x / sqrt(mean(x^2) + epsilon) * weight, for each of `groups` equal parts of a row alone. weight: [columns / groups].
void RmsNorm(TensorView<const float> x, absl::Span<const float> weight, float epsilon, int groups, TensorView<float> y);

void AddBias(TensorView<const float> x, absl::Span<const float> bias, TensorView<float> y);
void Add(TensorView<const float> a, TensorView<const float> b, TensorView<float> y);

// y = activation(gate) * up. silu(g) = g / (1 + e^-g); gelu(g) = g/2 (1 + tanh(sqrt(2/pi) (g + 0.044715 g^3))).
void GatedSilu(TensorView<const float> gate, TensorView<const float> up, TensorView<float> y);
void GatedGeluTanh(TensorView<const float> gate, TensorView<const float> up, TensorView<float> y);

// Rotates pair i of each head of row r. The angle's cosine and sine are cos_sin.row(r)[2 i] and [2 i + 1]; cos_sin is [rows, dimensions].
// Pairs are (2 i, 2 i + 1), or (i, i + dimensions / 2). Numbers of a head from `dimensions` on stay unchanged.
void RopeAdjacent(TensorView<const float> x, int heads, TensorView<const float> cos_sin, TensorView<float> y);
void RopeHalves(TensorView<const float> x, int heads, TensorView<const float> cos_sin, TensorView<float> y);

// y[q] = softmax(scale * queries[q] . keys) values, with queries and y [queries, head_size], keys and values [positions,
// head_size]. REQUIRES: positions >= 1.
void Attend(TensorView<const float> queries, TensorView<const float> keys, TensorView<const float> values, float scale,
            TensorView<float> y);

// y = scale * row.
void Scale(absl::Span<const float> row, float scale, absl::Span<float> y);

}  // namespace tessera::reference
