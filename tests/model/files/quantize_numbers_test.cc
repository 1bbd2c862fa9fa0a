#include "tessera/model/files/quantize_numbers.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status Example(int64_t rows, int64_t columns, ThreadPool& pool, GgufWriter::Append append) {
  const auto NumberAt = [](int64_t i) { return static_cast<float>(i); };
  const NumbersToQuantize numbers = {"token_embd.weight", BlockFormat::kQ4_1, rows * columns};
  RETURN_IF_ERROR(QuantizeNumbers(numbers, pool, [&](Share part, float* out) {
    for (int64_t i = part.begin; i < part.end; ++i) *out++ = NumberAt(i);          // Row by row.
    return absl::OkStatus();
  }, append));
  return absl::OkStatus();
}

// What is written, as a string.
std::string Written(const NumbersToQuantize& numbers, int threads, float (*number_at)(int64_t)) {
  ThreadPool pool(threads);
  std::string bytes;
  const auto fill = [&](Share part, float* out) {
    for (int64_t i = part.begin; i < part.end; ++i) *out++ = number_at(i);
    return absl::OkStatus();
  };
  const auto append = [&](absl::Span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return absl::OkStatus();
  };
  EXPECT_EQ(QuantizeNumbers(numbers, pool, fill, append), absl::OkStatus());
  return bytes;
}

TEST(QuantizeNumbers, HeaderExample) {
  ThreadPool pool(2);
  int64_t bytes = 0;
  const auto append = [&](absl::Span<const std::byte> piece) {
    bytes += static_cast<int64_t>(piece.size());
    return absl::OkStatus();
  };
  ASSERT_EQ(Example(3, 64, pool, append), absl::OkStatus());
  EXPECT_EQ(bytes, 3 * 2 * 20);
}

// Several pieces, a last one that is not full, and a last unit that is less than a block of 256.
TEST(QuantizeNumbers, BytesDoNotDependOnTheThreads) {
  constexpr int64_t kCount = 2 * kQuantizedTogether + 333 * 32;
  const auto number_at = [](int64_t i) { return std::sin(static_cast<float>(i % 100'003)); };
  std::vector<float> all(kCount);
  for (int64_t i = 0; i < kCount; ++i) all[i] = number_at(i);
  std::string whole(kCount / 32 * 22, '\0');
  InfoOf(BlockFormat::kQ5_0).quantize(all.data(), kCount, reinterpret_cast<std::byte*>(whole.data()));
  for (int threads : {1, 2, 5}) EXPECT_TRUE(Written({"matrix", BlockFormat::kQ5_0, kCount}, threads, number_at) == whole) << threads;
  EXPECT_EQ(Written({"few", BlockFormat::kQ8_0, 32}, 5, number_at).size(), 34u);
}

// Rows of 576, so that neither pieces nor threads' shares begin with one.
TEST(QuantizeNumbers, EachNumberHasTheImportanceOfItsInput) {
  constexpr int64_t kColumns = 576, kCount = 2000 * kColumns;
  const auto number_at = [](int64_t i) { return std::sin(static_cast<float>(i % 100'003)); };
  std::vector<float> inputs(kColumns), all(kCount), importance(kCount);
  for (int64_t i = 0; i < kColumns; ++i) inputs[i] = static_cast<float>(1 + i % 7 * i);
  for (int64_t i = 0; i < kCount; ++i) all[i] = number_at(i), importance[i] = inputs[i % kColumns];
  std::string whole(kCount / 32 * 18, '\0');
  InfoOf(BlockFormat::kIQ4_NL).search(all.data(), importance.data(), kCount, reinterpret_cast<std::byte*>(whole.data()));
  for (int threads : {1, 3}) {
    EXPECT_TRUE(Written({"matrix", BlockFormat::kIQ4_NL, kCount, inputs}, threads, number_at) == whole) << threads;
  }
}

TEST(QuantizeNumbers, ANumberThatAFormatCannotHoldIsNamed) {
  ThreadPool pool(2);
  const auto append = [](absl::Span<const std::byte>) { return absl::OkStatus(); };
  for (const BlockFormatInfo& format : AllBlockFormats()) {
    if (format.quantize == nullptr) continue;
    for (const float bad : {3.4e38f, -3.4e38f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      if (format.format == BlockFormat::kF32 && std::isfinite(bad)) continue;
      const auto fill = [&](Share part, float* out) {
        for (int64_t i = part.begin; i < part.end; ++i) *out++ = i == 700 ? bad : 1.0f;
        return absl::OkStatus();
      };
      const absl::Status status = QuantizeNumbers({"matrix", format.format, 1024}, pool, fill, append);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << format.name;
      EXPECT_TRUE(absl::StrContains(status.message(), "matrix: number 700: found ")) << status;
    }
  }
}

TEST(QuantizeNumbers, ErrorsOfEitherSideEndTheQuantization) {
  ThreadPool pool(2);
  const NumbersToQuantize matrix = {"matrix", BlockFormat::kQ4_0, 6400};
  const auto fill = [](Share, float* out) { return absl::OkStatus(); };
  const auto append = [](absl::Span<const std::byte>) { return absl::OkStatus(); };
  const absl::Status failed = absl::DataLossError("as a disk says it");
  const auto bad_fill = [&](Share part, float*) { return part.begin == 0 ? failed : absl::OkStatus(); };
  const auto bad_append = [&](absl::Span<const std::byte>) { return failed; };
  EXPECT_EQ(QuantizeNumbers(matrix, pool, bad_fill, append), failed);
  EXPECT_EQ(QuantizeNumbers(matrix, pool, fill, bad_append), failed);
}

}  // namespace
}  // namespace tessera
