// A two-dimensional view of numbers that another object owns: rows of equal length, a fixed distance apart.
//
//   std::vector<float> values(rows * columns);
//   TensorView<float> view(values.data(), rows, columns);
//   view.row(2)[5] = 1.0f;
//   TensorView<const float> head = view.Rows(0, 2);
//
// Copying a view copies no numbers. Thread-compatible. Lifetime: the owner of the numbers must outlive the view.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

template <typename T>
class TensorView {
 public:
  TensorView() = default;
  // row_stride: elements from one row to the next; REQUIRES: row_stride >= columns.
  TensorView(T* data, int64_t rows, int64_t columns, int64_t row_stride)
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride) {}
  TensorView(T* data, int64_t rows, int64_t columns) : TensorView(data, rows, columns, columns) {}

  operator TensorView<const T>() const { return {data_, rows_, columns_, row_stride_}; }  // NOLINT: a view of the same

  T* data() const { return data_; }
  T* row(int64_t r) const { return data_ + r * row_stride_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t row_stride() const { return row_stride_; }
  // Returns rows [begin, begin + count). REQUIRES: the rows exist.
  TensorView Rows(int64_t begin, int64_t count) const { return {row(begin), count, columns_, row_stride_}; }

 private:
  T* data_ = nullptr;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int64_t row_stride_ = 0;
};

}  // namespace tessera
