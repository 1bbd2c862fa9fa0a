#include "tessera/model/files/weight_errors.h"

#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/pack.h"
#include "tessera/model/files/quantize.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr auto kNoProgress = [](int64_t, int64_t) {};

class WeightErrors : public testing::Test {
 protected:
  std::unique_ptr<GgufFile> Written(GgufBuilder builder) const {
    builder.WriteTo(old_);
    return Must(GgufFile::Open(old_));
  }
  // The matrices of a GGUF copy.
  std::vector<WrittenMatrix> Quantized(const GgufFile& file, const std::string& recipe, int threads = 2) const {
    const QuantizedModel quantized = Must(QuantizedModel::Plan(file, Must(WeightRecipe::Parse(recipe))));
    ThreadPool pool(threads);
    Must(quantized.Write(new_, pool));
    std::vector<WrittenMatrix> matrices =
        MatricesOf(Must(ReadModelConfig(file)), [&](absl::string_view tensor) { return quantized.FormatOf(tensor); });
    Must(MeasureErrors(file, *Must(GgufFile::Open(new_)), pool, kNoProgress, absl::MakeSpan(matrices)));
    return matrices;
  }
  // The matrices of a packed file.
  std::vector<WrittenMatrix> Packed(const GgufFile& file, const std::string& recipe, int threads = 2) const {
    const PackPlan plan = Must(PackPlan::Make(file, Must(WeightRecipe::Parse(recipe))));
    ThreadPool pool(threads);
    Must(PackModel(file, plan, packed_, pool, [](PackStage, int64_t, int64_t) {}).status());
    std::vector<WrittenMatrix> matrices = MatricesOf(Must(ReadModelConfig(file)), plan.layout);
    Must(MeasureErrors(file, *Must(TsrReader::Open(packed_)), plan.layout, pool, kNoProgress, absl::MakeSpan(matrices)));
    return matrices;
  }

  const TemporaryFolder folder_;
  const std::string old_ = folder_.Path("old.gguf"), new_ = folder_.Path("new.gguf"), packed_ = folder_.Path("new.tsr");
};

std::map<std::string, WrittenMatrix> ByName(const std::vector<WrittenMatrix>& matrices) {
  std::map<std::string, WrittenMatrix> all;
  for (const WrittenMatrix& matrix : matrices) all[matrix.tensor] = matrix;
  return all;
}

// The relative error of a matrix in another format, by the formats' own functions.
double Expected(const GgufFile& file, const std::string& name, BlockFormat format) {
  const GgufTensor& tensor = *file.FindTensor(name);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.size));
  Must(file.Read(tensor, 0, absl::MakeSpan(bytes)));
  const int64_t count = tensor.size / tensor.format->bytes_per_block * tensor.format->values_per_block;
  std::vector<float> before(static_cast<size_t>(count)), after(before.size());
  tensor.format->dequantize(bytes.data(), count, before.data());
  const BlockFormatInfo& info = InfoOf(format);
  std::vector<std::byte> blocks(static_cast<size_t>(count / info.values_per_block * info.bytes_per_block));
  info.quantize(before.data(), count, blocks.data());
  info.dequantize(blocks.data(), count, after.data());
  double errors = 0, squares = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    errors += (after[i] - double{before[i]}) * (after[i] - double{before[i]});
    squares += double{before[i]} * before[i];
  }
  return std::sqrt(errors / squares);
}

TEST_F(WeightErrors, HeaderExample) {
  const auto file = Written(TinyModelBuilder({.formats = {BlockFormat::kF16}}));
  const ModelConfig config = Must(ReadModelConfig(*file));
  const QuantizedModel quantized = Must(QuantizedModel::Plan(*file, Must(WeightRecipe::Parse("Q4_0"))));
  ThreadPool pool(2);
  Must(quantized.Write(new_, pool));
  const auto copy = Must(GgufFile::Open(new_));
  int64_t last = 0, all = 0;
  const auto progress = [&](int64_t done, int64_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
  };
  int shown = 0;
  const auto Show = [&](const std::string& tensor, const std::string& form, double error) {
    const bool of_layer = absl::StartsWith(tensor, "blk.");
    EXPECT_EQ(form, of_layer ? "Q4_0" : "F16") << tensor;
    EXPECT_NEAR(error, of_layer ? Expected(*file, tensor, BlockFormat::kQ4_0) : 0, 1e-12) << tensor;
    ++shown;
  };
  const auto run = [&]() -> absl::Status {
    std::vector<WrittenMatrix> matrices = MatricesOf(config, [&](absl::string_view tensor) { return quantized.FormatOf(tensor); });
    RETURN_IF_ERROR(MeasureErrors(*file, *copy, pool, progress, absl::MakeSpan(matrices)));          // Both GgufFile.
    for (const WrittenMatrix& matrix : matrices) Show(matrix.tensor, matrix.form, matrix.RelativeError());
    return absl::OkStatus();
  };
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(shown, 2 + 2 * 7);
  EXPECT_EQ(last, all);
}

TEST_F(WeightErrors, OfPanelsAndOfGgufAreTheSame) {
  const auto file = Written(TinyModelBuilder({.architecture = "gemma3", .formats = {BlockFormat::kF16, BlockFormat::kQ8_0}}));
  const std::map<std::string, WrittenMatrix> gguf = ByName(Quantized(*file, "Q4_0,ffn_down=Q5_1")),
                                             packed = ByName(Packed(*file, "Q4_0,ffn_down=Q5_1"));
  ASSERT_EQ(gguf.size(), packed.size());
  for (const auto& [name, matrix] : gguf) {
    const WrittenMatrix& other = packed.at(name);
    EXPECT_TRUE(matrix.measured && other.measured) << name;
    EXPECT_EQ(other.form, matrix.form) << name;
    EXPECT_EQ(other.weights, matrix.weights) << name;
    EXPECT_NEAR(other.RelativeError(), matrix.RelativeError(), 1e-12) << name;
  }
  EXPECT_NEAR(gguf.at("blk.1.ffn_down.weight").RelativeError(), Expected(*file, "blk.1.ffn_down.weight", BlockFormat::kQ5_1), 1e-12);
}

// Weights in groups are FP16 numbers when they are multiplied, so that what tiles hold exactly is off by that rounding.
TEST_F(WeightErrors, OfTilesGrowAsBitsGoAndAreFp16sWhereTilesHoldTheNumbers) {
  const auto file = Written(TinyModelBuilder({.formats = {BlockFormat::kQ4_0}}));
  const auto exact = ByName(Packed(*file, "common-tile")), fine = ByName(Packed(*file, "int8-tile")), coarse = ByName(Packed(*file, "001"));
  for (const char* label : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up"}) {
    const std::string name = absl::StrCat("blk.0.", label, ".weight");
    EXPECT_EQ(exact.at(name).form, "int4-common");
    EXPECT_LT(exact.at(name).RelativeError(), 0x1p-11) << name;
    EXPECT_GT(fine.at(name).RelativeError(), 0x1p-10) << name;
    EXPECT_LT(fine.at(name).RelativeError(), 0.02) << name;
    EXPECT_GT(coarse.at(name).RelativeError(), 2 * fine.at(name).RelativeError()) << name;
    EXPECT_LT(coarse.at(name).RelativeError(), 0.2) << name;
    EXPECT_EQ(coarse.at(name).BitsPerWeight(), 4.5) << name;
  }
  EXPECT_EQ(coarse.at("blk.0.ffn_down.weight").form, "int8-tile");
  EXPECT_EQ(coarse.at("output.weight").RelativeError(), 0) << "it is kept";
}

TEST_F(WeightErrors, TilesAndPanelsThatAreNotFullSaySo) {
  // 40 inputs: tiles of 64. 48 channels: tiles of 64, panels of 64 rows; 265 tokens: panels of 288 rows.
  const auto file = Written(TinyModelBuilder({.width = 40, .feed_forward = 48, .heads = 2, .kv_heads = 1, .head_size = 32,
                                              .formats = {BlockFormat::kF16}}));
  const auto tiles = ByName(Packed(*file, "int8-tile")), gguf = ByName(Quantized(*file, "F32"));
  const WrittenMatrix& up = tiles.at("blk.0.ffn_up.weight");
  EXPECT_EQ(up.bytes, 4 * 1088);
  EXPECT_EQ(up.padding, 4 * 1088 - 48 * 40 * 1088 / 1024);
  EXPECT_EQ(tiles.at("blk.0.attn_output.weight").padding, 2 * 2 * 1088 - 40 * 64 * 1088 / 1024);
  const WrittenMatrix& head = tiles.at("output.weight");
  EXPECT_EQ(head.form, "F16");
  EXPECT_EQ(head.padding, head.bytes * (288 - 265) / 288);
  for (const auto& [name, matrix] : gguf) EXPECT_EQ(matrix.padding, 0) << name;
}

TEST_F(WeightErrors, DoNotDependOnThreads) {
  const auto file = Written(TinyModelBuilder({.feed_forward = 3200, .formats = {BlockFormat::kF16}}));  // Several pieces of a matrix.
  const std::vector<WrittenMatrix> gguf = Quantized(*file, "Q4_0", 1), packed = Packed(*file, "int4-tile", 1);
  const std::vector<WrittenMatrix> other_gguf = Quantized(*file, "Q4_0", 3), other_packed = Packed(*file, "int4-tile", 3);
  for (size_t i = 0; i < gguf.size(); ++i) {
    EXPECT_EQ(other_gguf[i].squared_errors, gguf[i].squared_errors) << gguf[i].tensor;
    EXPECT_EQ(other_packed[i].squared_errors, packed[i].squared_errors) << gguf[i].tensor;
    EXPECT_EQ(other_packed[i].squares, packed[i].squares) << gguf[i].tensor;
  }
}

TEST_F(WeightErrors, NothingIsMeasuredWithAnotherFile) {
  const auto file = Written(TinyModelBuilder({}));
  const ModelConfig config = Must(ReadModelConfig(*file));
  std::vector<WrittenMatrix> matrices = MatricesOf(config, [](absl::string_view) { return BlockFormat::kQ8_0; });
  TinyModelBuilder({.feed_forward = 64, .tied = true}).WriteTo(new_);
  const auto other = Must(GgufFile::Open(new_));
  ThreadPool pool(1);
  const absl::Status missing = MeasureErrors(*file, *other, pool, kNoProgress, absl::MakeSpan(matrices));
  EXPECT_TRUE(absl::IsInvalidArgument(missing));
  EXPECT_EQ(missing.message(), absl::StrCat(new_, ": tensor output.weight: missing, expected ", 64 * kTinyVocabulary, " weights"));
  std::erase_if(matrices, [](const WrittenMatrix& matrix) { return matrix.kind != "ffn_up.weight"; });
  const absl::Status smaller = MeasureErrors(*file, *other, pool, kNoProgress, absl::MakeSpan(matrices));
  EXPECT_EQ(smaller.message(), new_ + ": tensor blk.0.ffn_up.weight: found 4096 weights, expected 6144");
  EXPECT_FALSE(matrices[0].measured);
}

TEST_F(WeightErrors, AreSharesOfTheWeights) {
  EXPECT_EQ((WrittenMatrix{.squared_errors = 4, .squares = 100}.RelativeError()), 0.2);
  EXPECT_EQ((WrittenMatrix{}.RelativeError()), 0);
  EXPECT_EQ((WrittenMatrix{.squared_errors = 1}.RelativeError()), std::numeric_limits<double>::infinity());
  EXPECT_EQ((WrittenMatrix{.weights = 256, .bytes = 144}.BitsPerWeight()), 4.5);
}

}  // namespace
}  // namespace tessera
