#include "tessera/tensor/reference_ops.h"

#include <cmath>

#include "Eigen/Core"

namespace tessera::reference {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

Eigen::Map<const RowMajor, 0, Stride> MatrixOf(TensorView<const float> view) {
  return {view.data(), view.rows(), view.columns(), Stride(view.row_stride())};
}
Eigen::Map<RowMajor, 0, Stride> MatrixOf(TensorView<float> view) {
  return {view.data(), view.rows(), view.columns(), Stride(view.row_stride())};
}
Eigen::Map<const Eigen::VectorXf> VectorOf(const float* data, int64_t size) { return {data, size}; }
Eigen::Map<Eigen::VectorXf> VectorOf(float* data, int64_t size) { return {data, size}; }

// Weights become e^(weight - largest) / sum: a softmax that cannot overflow.
void Softmax(Eigen::VectorXd& weights) {
  weights = (weights.array() - weights.maxCoeff()).exp();
  weights /= weights.sum();
}

template <typename Activation>
void Gated(TensorView<const float> gate, TensorView<const float> up, TensorView<float> y, Activation activation) {
  for (int64_t r = 0; r < gate.rows(); ++r) {
    for (int64_t i = 0; i < gate.columns(); ++i) y.row(r)[i] = static_cast<float>(activation(gate.row(r)[i]) * up.row(r)[i]);
  }
}

// Pair i of a head is at [i * step] and [i * step + distance].
void RotateHead(const float* x, const float* cos_sin, int64_t pairs, int64_t step, int64_t distance, float* y) {
  for (int64_t i = 0; i < pairs; ++i) {
    const double cosine = cos_sin[2 * i], sine = cos_sin[2 * i + 1];
    const double first = x[i * step], second = x[i * step + distance];
    y[i * step] = static_cast<float>(first * cosine - second * sine);
    y[i * step + distance] = static_cast<float>(first * sine + second * cosine);
  }
}

void Rope(TensorView<const float> x, int heads, TensorView<const float> cos_sin, int64_t step, int64_t distance,
          TensorView<float> y) {
  const int64_t head_size = x.columns() / heads, dimensions = cos_sin.columns();
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t begin = 0; begin < x.columns(); begin += head_size) {
      RotateHead(x.row(r) + begin, cos_sin.row(r), dimensions / 2, step, distance, y.row(r) + begin);
      for (int64_t i = dimensions; i < head_size; ++i) y.row(r)[begin + i] = x.row(r)[begin + i];
    }
  }
}

}  // namespace

void MatMul(TensorView<const float> w, TensorView<const float> x, TensorView<float> y) {
  if (x.rows() == 0 || w.rows() == 0) return;
  if (x.rows() == 1) {
    VectorOf(y.row(0), w.rows()).noalias() = MatrixOf(w) * VectorOf(x.row(0), w.columns());
  } else {
    MatrixOf(y).noalias() = MatrixOf(x) * MatrixOf(w).transpose();
  }
}

void AddLowRank(TensorView<const float> a, TensorView<const float> b, float scale, absl::Span<const float> x,
                absl::Span<float> y) {
  const Eigen::VectorXf low = MatrixOf(a) * VectorOf(x.data(), a.columns());
  VectorOf(y.data(), b.columns()).noalias() += scale * (MatrixOf(b).transpose() * low);
}

void RmsNorm(TensorView<const float> x, absl::Span<const float> weight, float epsilon, int groups, TensorView<float> y) {
  const int64_t size = x.columns() / groups;
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t begin = 0; begin < x.columns(); begin += size) {
      const auto group = VectorOf(x.row(r) + begin, size).cast<double>();
      const double factor = 1 / std::sqrt(group.squaredNorm() / static_cast<double>(size) + epsilon);
      VectorOf(y.row(r) + begin, size) =
          (group * factor).cwiseProduct(VectorOf(weight.data(), size).cast<double>()).cast<float>();
    }
  }
}

void AddBias(TensorView<const float> x, absl::Span<const float> bias, TensorView<float> y) {
  MatrixOf(y) = MatrixOf(x).rowwise() + VectorOf(bias.data(), x.columns()).transpose();
}

void Add(TensorView<const float> a, TensorView<const float> b, TensorView<float> y) { MatrixOf(y) = MatrixOf(a) + MatrixOf(b); }

void GatedSilu(TensorView<const float> gate, TensorView<const float> up, TensorView<float> y) {
  Gated(gate, up, y, [](double g) { return g / (1 + std::exp(-g)); });
}

void GatedGeluTanh(TensorView<const float> gate, TensorView<const float> up, TensorView<float> y) {
  const double factor = std::sqrt(2 / std::acos(-1.0));
  Gated(gate, up, y, [factor](double g) { return g / 2 * (1 + std::tanh(factor * (g + 0.044715 * g * g * g))); });
}

void RopeAdjacent(TensorView<const float> x, int heads, TensorView<const float> cos_sin, TensorView<float> y) {
  Rope(x, heads, cos_sin, /*step=*/2, /*distance=*/1, y);
}

void RopeHalves(TensorView<const float> x, int heads, TensorView<const float> cos_sin, TensorView<float> y) {
  Rope(x, heads, cos_sin, /*step=*/1, /*distance=*/cos_sin.columns() / 2, y);
}

void Attend(TensorView<const float> queries, TensorView<const float> keys, TensorView<const float> values, float scale,
            TensorView<float> y) {
  for (int64_t q = 0; q < queries.rows(); ++q) {
    const Eigen::VectorXf scores = MatrixOf(keys) * VectorOf(queries.row(q), queries.columns());
    Eigen::VectorXd weights = scale * scores.cast<double>();
    Softmax(weights);
    VectorOf(y.row(q), y.columns()).noalias() = MatrixOf(values).transpose() * weights.cast<float>();
  }
}

void Scale(absl::Span<const float> row, float scale, absl::Span<float> y) {
  VectorOf(y.data(), static_cast<int64_t>(row.size())) = scale * VectorOf(row.data(), static_cast<int64_t>(row.size()));
}

}  // namespace tessera::reference
