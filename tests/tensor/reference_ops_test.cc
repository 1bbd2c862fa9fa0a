#include "tessera/tensor/reference_ops.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

// A matrix whose rows are padded by three numbers that no operator may touch.
class Padded {
 public:
  static constexpr int64_t kPadding = 3;
  static constexpr float kUntouched = -77.0f;

  Padded(int64_t rows, int64_t columns, SeededRandom* random = nullptr)
      : rows_(rows), columns_(columns), values_(rows * (columns + kPadding), kUntouched) {
    for (int64_t r = 0; random != nullptr && r < rows; ++r) {
      for (int64_t i = 0; i < columns; ++i) view().row(r)[i] = random->Uniform(-2.0f, 2.0f);
    }
  }
  TensorView<float> view() { return {values_.data(), rows_, columns_, columns_ + kPadding}; }
  float at(int64_t row, int64_t column) const { return values_[row * (columns_ + kPadding) + column]; }
  bool padding_untouched() const {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t i = 0; i < kPadding; ++i) {
        if (at(r, columns_ + i) != kUntouched) return false;
      }
    }
    return true;
  }

 private:
  int64_t rows_, columns_;
  std::vector<float> values_;
};

double DotOf(const Padded& a, int64_t row_a, const Padded& b, int64_t row_b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += double{a.at(row_a, i)} * b.at(row_b, i);
  return sum;
}

TEST(ReferenceOps, HeaderExample) {
  std::vector<float> weights(1536 * 576, 0.5f), rows(4 * 576, 1.0f), out(4 * 1536), norm_weight(576, 2.0f), normed_rows(4 * 576);
  TensorView<const float> w(weights.data(), 1536, 576), x(rows.data(), 4, 576);
  TensorView<float> y(out.data(), 4, 1536), normed(normed_rows.data(), 4, 576);
  reference::MatMul(w, x, y);
  reference::RmsNorm(x, norm_weight, /*epsilon=*/1e-5f, /*groups=*/1, normed);
  EXPECT_FLOAT_EQ(y.row(3)[1535], 288.0f);
  EXPECT_NEAR(normed.row(3)[575], 2.0f, 2e-5f);
}

TEST(ReferenceOps, MatMulIsTheDotProductOfRowsForAnyNumberOfRows) {
  SeededRandom random(1);
  for (const int64_t rows : {1, 2, 7}) {
    Padded w(5, 33, &random), x(rows, 33, &random), y(rows, 5);
    reference::MatMul(w.view(), x.view(), y.view());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < 5; ++o) EXPECT_NEAR(y.at(r, o), DotOf(w, o, x, r, 33), 1e-5);
    }
    EXPECT_TRUE(y.padding_untouched());
  }
}

TEST(ReferenceOps, LowRankProductIsAddedToTheOutput) {
  SeededRandom random(2);
  Padded a(3, 10, &random), b(3, 6, &random), x(1, 10, &random), y(1, 6, &random);
  const Padded before = y;
  reference::AddLowRank(a.view(), b.view(), 0.5f, {x.view().row(0), 10}, {y.view().row(0), 6});
  for (int64_t o = 0; o < 6; ++o) {
    double expected = before.at(0, o);
    for (int64_t k = 0; k < 3; ++k) expected += 0.5 * DotOf(a, k, x, 0, 10) * b.at(k, o);
    EXPECT_NEAR(y.at(0, o), expected, 1e-5);
  }
}

TEST(ReferenceOps, RmsNormTakesEachGroupAlone) {
  SeededRandom random(3);
  Padded x(2, 12, &random), y(2, 12);
  const std::vector<float> weight = {1, 2, 3, 4};
  reference::RmsNorm(x.view(), weight, 0.25f, 3, y.view());
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t i = 0; i < 12; ++i) {
      double squares = 0;
      for (int64_t j = i / 4 * 4; j < i / 4 * 4 + 4; ++j) squares += double{x.at(r, j)} * x.at(r, j);
      EXPECT_NEAR(y.at(r, i), x.at(r, i) / std::sqrt(squares / 4 + 0.25) * weight[i % 4], 1e-6);
    }
  }
  EXPECT_TRUE(y.padding_untouched());
}

TEST(ReferenceOps, AddAndAddBiasAddElementByElement) {
  SeededRandom random(4);
  Padded a(3, 5, &random), b(3, 5, &random), sum(3, 5), biased(3, 5);
  const std::vector<float> bias = {1, -2, 3, -4, 5};
  reference::Add(a.view(), b.view(), sum.view());
  reference::AddBias(a.view(), bias, biased.view());
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(sum.at(r, i), a.at(r, i) + b.at(r, i));
      EXPECT_EQ(biased.at(r, i), a.at(r, i) + bias[i]);
    }
  }
  EXPECT_TRUE(sum.padding_untouched() && biased.padding_untouched());
}

TEST(ReferenceOps, GatedActivationsAgreeWithKnownValues) {
  std::vector<float> gate = {0.0f, 1.0f, -1.0f, 3.0f, -40.0f}, up(5, 2.0f), y(5);
  const auto row = [](std::vector<float>& values) { return TensorView<float>(values.data(), 1, 5); };
  reference::GatedSilu(row(gate), row(up), row(y));
  const double silu[] = {0, 0.7310585786300049, -0.2689414213699951, 2.8577223804673, -1.6993417021166355e-16};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(y[i], 2 * silu[i], 1e-6);
  reference::GatedGeluTanh(row(gate), row(up), row(y));
  const double gelu[] = {0, 0.8411919906082768, -0.15880800939172324, 2.9963626, 0};  // Hendrycks and Gimpel 2016, tanh form.
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(y[i], 2 * gelu[i], 1e-6);
}

TEST(ReferenceOps, RopeTurnsNeighboursOrHalvesAndLeavesTheRest) {
  const double angle[] = {0.3, -1.1};
  std::vector<float> cos_sin, x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, y(10);
  for (const double a : angle) cos_sin.insert(cos_sin.end(), {static_cast<float>(std::cos(a)), static_cast<float>(std::sin(a))});
  const TensorView<const float> table(cos_sin.data(), 1, 4), in(x.data(), 1, 10);
  const auto expect_pair = [&](int i, int j, double a) {
    EXPECT_NEAR(y[i], x[i] * std::cos(a) - x[j] * std::sin(a), 1e-5) << i;
    EXPECT_NEAR(y[j], x[i] * std::sin(a) + x[j] * std::cos(a), 1e-5) << j;
  };
  for (const bool halves : {false, true}) {
    (halves ? reference::RopeHalves : reference::RopeAdjacent)(in, /*heads=*/2, table, {y.data(), 1, 10});
    for (const int head : {0, 5}) {
      for (int i = 0; i < 2; ++i) expect_pair(head + (halves ? i : 2 * i), head + (halves ? i + 2 : 2 * i + 1), angle[i]);
      EXPECT_EQ(y[head + 4], x[head + 4]);
    }
  }
}

TEST(ReferenceOps, AttendWeighsValuesBySoftmaxOfScores) {
  SeededRandom random(5);
  Padded queries(3, 8, &random), keys(11, 8, &random), values(11, 8, &random), y(3, 8);
  reference::Attend(queries.view(), keys.view(), values.view(), 0.7f, y.view());
  for (int64_t q = 0; q < 3; ++q) {
    double total = 0, sums[8] = {};
    for (int64_t p = 0; p < 11; ++p) {
      const double weight = std::exp(0.7 * DotOf(queries, q, keys, p, 8));
      total += weight;
      for (int64_t d = 0; d < 8; ++d) sums[d] += weight * values.at(p, d);
    }
    for (int64_t d = 0; d < 8; ++d) EXPECT_NEAR(y.at(q, d), sums[d] / total, 1e-5);
  }
  EXPECT_TRUE(y.padding_untouched());
}

TEST(ReferenceOps, AttendSurvivesScoresThatWouldOverflow) {
  std::vector<float> query = {300}, keys = {300, 299}, values = {1, 5}, y(1);
  reference::Attend({query.data(), 1, 1}, {keys.data(), 2, 1}, {values.data(), 2, 1}, 1.0f, {y.data(), 1, 1});
  EXPECT_EQ(y[0], 1.0f);
}

TEST(ReferenceOps, ScaleMultipliesARow) {
  const std::vector<float> row = {1, -2, 4};
  std::vector<float> y(3);
  reference::Scale(row, 0.5f, absl::MakeSpan(y));
  EXPECT_EQ(y, (std::vector<float>{0.5f, -1, 2}));
}

}  // namespace
}  // namespace tessera
