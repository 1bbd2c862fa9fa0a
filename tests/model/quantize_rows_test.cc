#include "tessera/model/quantize_rows.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status RowsExample(int64_t rows, int64_t columns, ThreadPool& pool, GgufWriter::Append append) {
  const auto Fill = [&](int64_t row, float* out) { std::fill(out, out + columns, static_cast<float>(row)); };
  const RowsToQuantize matrix = {"token_embd.weight", BlockFormat::kQ4_1, rows, columns};
  RETURN_IF_ERROR(QuantizeRows(matrix, pool, [&](Share part, float* out) {
    for (int64_t row = part.begin; row < part.end; ++row, out += columns) Fill(row, out);
    return absl::OkStatus();
  }, append));
  return absl::OkStatus();
}

TEST(QuantizeRows, HeaderExample) {
  ThreadPool pool(2);
  int64_t bytes = 0;
  const auto append = [&](absl::Span<const std::byte> piece) {
    bytes += static_cast<int64_t>(piece.size());
    return absl::OkStatus();
  };
  ASSERT_EQ(RowsExample(3, 64, pool, append), absl::OkStatus());
  EXPECT_EQ(bytes, 3 * 2 * 20);
}

// Several pieces of rows, and a last one that is not full.
TEST(QuantizeRows, BytesDoNotDependOnTheThreads) {
  constexpr int64_t kRows = 9001, kColumns = 256;
  std::string first;
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::string bytes;
    const auto fill = [](Share part, float* out) {
      for (int64_t i = part.begin * kColumns; i < part.end * kColumns; ++i) *out++ = std::sin(static_cast<float>(i % 100'003));
      return absl::OkStatus();
    };
    const auto append = [&](absl::Span<const std::byte> piece) {
      bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      return absl::OkStatus();
    };
    ASSERT_EQ(QuantizeRows({"matrix", BlockFormat::kQ5_0, kRows, kColumns}, pool, fill, append), absl::OkStatus());
    EXPECT_EQ(bytes.size(), static_cast<size_t>(kRows * kColumns / 32 * 22));
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads;
  }
}

TEST(QuantizeRows, ErrorsOfEitherSideEndIt) {
  ThreadPool pool(2);
  const RowsToQuantize matrix = {"matrix", BlockFormat::kQ4_0, 100, 64};
  const auto fill = [](Share, float* out) { return absl::OkStatus(); };
  const auto append = [](absl::Span<const std::byte>) { return absl::OkStatus(); };
  const absl::Status failed = absl::DataLossError("as a disk says it");
  const auto bad_fill = [&](Share part, float*) { return part.begin == 0 ? failed : absl::OkStatus(); };
  const auto bad_append = [&](absl::Span<const std::byte>) { return failed; };
  EXPECT_EQ(QuantizeRows(matrix, pool, bad_fill, append), failed);
  EXPECT_EQ(QuantizeRows(matrix, pool, fill, bad_append), failed);
}

}  // namespace
}  // namespace tessera
