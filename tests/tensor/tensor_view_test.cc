#include "tessera/tensor/tensor_view.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(TensorView, HeaderExample) {
  const int64_t rows = 4, columns = 6;
  std::vector<float> values(rows * columns);
  TensorView<float> view(values.data(), rows, columns);
  view.row(2)[5] = 1.0f;
  TensorView<const float> head = view.Rows(0, 2);
  EXPECT_EQ(values[2 * columns + 5], 1.0f);
  EXPECT_EQ(head.rows(), 2);
  EXPECT_EQ(head.columns(), columns);
}

TEST(TensorView, RowsOfAPaddedMatrixAreTheStrideApart) {
  std::vector<int> values(3 * 8);
  std::iota(values.begin(), values.end(), 0);
  const TensorView<int> view(values.data(), 3, 5, 8);
  EXPECT_EQ(view.row(2)[4], 20);
  EXPECT_EQ(view.Rows(1, 2).row(1)[4], 20);
  EXPECT_EQ(view.Rows(1, 2).row_stride(), 8);
}

TEST(TensorView, CopiesSeeTheSameNumbers) {
  std::vector<int> values(4);
  TensorView<int> view(values.data(), 2, 2);
  const TensorView<int> copy = view;
  view.row(1)[1] = 7;
  EXPECT_EQ(copy.row(1)[1], 7);
}

TEST(TensorView, DefaultViewHasNoRows) {
  const TensorView<float> view;
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_EQ(view.rows(), 0);
  EXPECT_EQ(view.columns(), 0);
}

}  // namespace
}  // namespace tessera
