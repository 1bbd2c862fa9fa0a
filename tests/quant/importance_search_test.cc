// The search for blocks where errors do not all count the same: BlockFormatInfo::search and QuantizeNumbersOfRows.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/quant/block_format.h"

namespace tessera {
namespace {

using Values = std::vector<float>;
constexpr int kBlock = 256;

std::vector<const BlockFormatInfo*> Searching() {
  std::vector<const BlockFormatInfo*> formats;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.search != nullptr) formats.push_back(&info);
  }
  return formats;
}

Values GaussianValues(int count) {
  SeededRandom random(11);
  Values x(count);
  for (float& value : x) value = static_cast<float>(random.Gaussian());
  return x;
}

std::vector<std::byte> Quantized(const BlockFormatInfo& info, const Values& x) {
  const int64_t values = static_cast<int64_t>(x.size());
  std::vector<std::byte> bytes(values / info.values_per_block * info.bytes_per_block);
  info.quantize(x.data(), values, bytes.data());
  return bytes;
}

// As statistics of activations are: a few inputs are much larger than others.
Values Importances(int count) {
  SeededRandom random(13);
  Values importance(count);
  for (float& each : importance) each = static_cast<float>(std::exp(2 * random.Gaussian()));
  return importance;
}

std::vector<std::byte> Searched(const BlockFormatInfo& info, const Values& x, const Values& importance) {
  const int64_t values = static_cast<int64_t>(x.size());
  std::vector<std::byte> bytes(values / info.values_per_block * info.bytes_per_block);
  info.search(x.data(), importance.data(), values, bytes.data());
  return bytes;
}

double WeightedError(const BlockFormatInfo& info, const std::vector<std::byte>& bytes, const Values& x, const Values& importance) {
  Values out(x.size());
  info.dequantize(bytes.data(), static_cast<int64_t>(x.size()), out.data());
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += double{importance[i]} * (double{out[i]} - x[i]) * (double{out[i]} - x[i]);
  return sum;
}

TEST(ImportanceSearch, FormatsThatSearchTakeAnImportance) {
  std::vector<std::string> names;
  for (const BlockFormatInfo* info : Searching()) names.push_back(info->name);
  EXPECT_EQ(names, (std::vector<std::string>{"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "T2", "T3"}));
}

TEST(ImportanceSearch, ErrorsOfImportantValuesAreSmaller) {
  const Values x = GaussianValues(64 * kBlock), importance = Importances(64 * kBlock);
  for (const BlockFormatInfo* info : Searching()) {
    const double without = WeightedError(*info, Quantized(*info, x), x, importance);
    EXPECT_LT(WeightedError(*info, Searched(*info, x, importance), x, importance), 0.7 * without)
        << info->name;
  }
}

// However large or small: what counts is what one importance is beside others.
TEST(ImportanceSearch, EqualImportancesGiveTheBytesOfNone) {
  const Values x = GaussianValues(4 * kBlock);
  for (const BlockFormatInfo* info : Searching()) {
    for (const float importance : {0.0f, std::numeric_limits<float>::denorm_min(), 1.0f, 7.5f, std::numeric_limits<float>::max()}) {
      EXPECT_EQ(Searched(*info, x, Values(x.size(), importance)), Quantized(*info, x))
          << info->name << " " << importance;
    }
  }
}

TEST(ImportanceSearch, OneImportantValueLeavesTheOthersNearTheirs) {
  const Values x = GaussianValues(4 * kBlock);
  Values one(x.size(), 0);
  for (size_t i = 0; i < one.size(); i += 32) one[i + i / 32 % 32] = 3e38f;
  for (const BlockFormatInfo* info : Searching()) {
    const Values equal(x.size(), 1);
    EXPECT_LT(WeightedError(*info, Searched(*info, x, one), x, equal),
              5 * WeightedError(*info, Quantized(*info, x), x, equal)) << info->name;
  }
}

// Rows of a matrix, from the middle of one: each number has the importance of its input.
TEST(ImportanceSearch, RowsShareTheImportanceOfTheirInputs) {
  constexpr int64_t kColumns = 3 * kBlock, kFirst = 2 * kBlock;
  const Values x = GaussianValues(7 * kBlock), inputs = Importances(kColumns);
  Values importance(x.size());
  for (size_t i = 0; i < x.size(); ++i) importance[i] = inputs[(kFirst + i) % kColumns];
  for (const BlockFormatInfo* info : Searching()) {
    std::vector<std::byte> bytes(Quantized(*info, x).size());
    QuantizeNumbersOfRows(*info, x, kFirst, inputs, bytes.data());
    EXPECT_EQ(bytes, Searched(*info, x, importance)) << info->name;
    QuantizeNumbersOfRows(*info, x, kFirst, {}, bytes.data());
    EXPECT_EQ(bytes, Quantized(*info, x)) << info->name;
  }
}

}  // namespace
}  // namespace tessera
