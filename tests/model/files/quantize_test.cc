#include "tessera/model/files/quantize.h"

#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/forms_instead.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr auto kNoProgress = [](int64_t, int64_t) {};

class Quantize : public testing::Test {
 protected:
  std::string Written(GgufBuilder builder) const {
    builder.WriteTo(old_);
    return old_;
  }
  absl::Status Run(const GgufFile& file, const std::string& recipe, int threads = 2) const {
    ASSIGN_OR_RETURN(const QuantizedModel model, QuantizedModel::Plan(file, Must(WeightRecipe::Parse(recipe))));
    ThreadPool pool(threads);
    return model.Write(new_, pool);
  }

  const TemporaryFolder folder_;
  const std::string old_ = folder_.Path("old.gguf"), new_ = folder_.Path("new.gguf");
};

std::vector<std::byte> BytesOf(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<std::byte> bytes(tensor.size);
  EXPECT_EQ(file.Read(tensor, 0, absl::MakeSpan(bytes)), absl::OkStatus());
  return bytes;
}

// What a tensor's numbers are in another format, by the formats' own functions.
std::vector<std::byte> Rounded(const GgufFile& file, const GgufTensor& tensor, BlockFormat format) {
  const std::vector<std::byte> bytes = BytesOf(file, tensor);
  const int64_t values = tensor.size / tensor.format->bytes_per_block * tensor.format->values_per_block;
  std::vector<float> numbers(values);
  tensor.format->dequantize(bytes.data(), values, numbers.data());
  const BlockFormatInfo& to = InfoOf(format);
  std::vector<std::byte> blocks(values / to.values_per_block * to.bytes_per_block);
  to.quantize(numbers.data(), values, blocks.data());
  return blocks;
}

// What matrices are to be; nullopt: as they are.
struct Formats {
  std::optional<BlockFormat> layers = {}, head = {}, down = {};  // down: of ffn_down, if it is not that of the other layers.

  std::optional<BlockFormat> Of(const GgufTensor& tensor) const {
    if (tensor.shape.size() != 2) return std::nullopt;
    if (tensor.name == "token_embd.weight" || tensor.name == "output.weight") return head;
    return absl::EndsWith(tensor.name, "ffn_down.weight") && down ? down : layers;
  }
};

void ExpectTensors(const GgufFile& old_file, const GgufFile& new_file, const Formats& formats) {
  ASSERT_EQ(new_file.tensors().size(), old_file.tensors().size());
  for (const GgufTensor& before : old_file.tensors()) {
    const GgufTensor* after = new_file.FindTensor(before.name);
    ASSERT_NE(after, nullptr) << before.name;
    EXPECT_EQ(after->shape, before.shape);
    const std::optional<BlockFormat> wanted = formats.Of(before);
    EXPECT_EQ(after->format->format, wanted.value_or(before.format->format)) << before.name;
    EXPECT_EQ(BytesOf(new_file, *after), wanted ? Rounded(old_file, before, *wanted) : BytesOf(old_file, before)) << before.name;
  }
}

absl::Status Example(const GgufFile* file, ThreadPool& pool, const std::string& path, const GgufWriter::Progress& progress) {
  ASSIGN_OR_RETURN(const WeightRecipe recipe, WeightRecipe::Parse("Q4_0,ffn_down=Q8_0,head=Q4_1"));
  ASSIGN_OR_RETURN(const QuantizedModel model, QuantizedModel::Plan(*file, recipe));        // From a GgufFile.
  RETURN_IF_ERROR(model.Write(path, pool, progress));
  return absl::OkStatus();
}

TEST_F(Quantize, HeaderExample) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({.tied = true, .formats = {BlockFormat::kF16}})));
  ThreadPool pool(2);
  ASSERT_EQ(Example(file.get(), pool, new_, kNoProgress), absl::OkStatus());
  ExpectTensors(*file, **GgufFile::Open(new_), {BlockFormat::kQ4_0, BlockFormat::kQ4_1, BlockFormat::kQ8_0});
}

Importance ImportanceOf(const GgufFile& file, int64_t more_inputs = 0) {
  Importance importance;
  for (const GgufTensor& tensor : file.tensors()) {
    if (!absl::StrContains(tensor.name, "blk.") || tensor.shape.size() != 2) continue;
    Importance::Entry entry = {.mean_squares = {}, .rows = 1};
    for (int64_t i = 0; i < tensor.shape[0] + more_inputs; ++i) entry.mean_squares.push_back(static_cast<float>(1 + i % 5 * i));
    Must(importance.Add(tensor.name, std::move(entry)));
  }
  return importance;
}

TEST_F(Quantize, StatisticsWeighErrorsWhereScalesAreSearched) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({.formats = {BlockFormat::kF16}})));
  const QuantizedModel model = Must(QuantizedModel::Plan(*file, Must(WeightRecipe::Parse("IQ4_NL,ffn_down=Q8_0,head=IQ4_NL"))));
  const Importance importance = ImportanceOf(*file);
  ThreadPool pool(2);
  ASSERT_EQ(model.Write(new_, pool, kNoProgress, &importance), absl::OkStatus());
  const auto written = *GgufFile::Open(new_);
  for (const GgufTensor& before : file->tensors()) {
    const GgufTensor& after = *written->FindTensor(before.name);
    if (after.format->format == before.format->format) continue;
    const std::vector<std::byte> found = BytesOf(*written, after), without = Rounded(*file, before, after.format->format);
    const absl::Span<const float> inputs = importance.Of(before.name);
    if (after.format->search == nullptr || inputs.empty()) {   // ffn_down, and the head, which these statistics leave out.
      EXPECT_EQ(found, without) << before.name;
      continue;
    }
    std::vector<float> numbers(static_cast<size_t>(before.size) / 2);
    before.format->dequantize(BytesOf(*file, before).data(), static_cast<int64_t>(numbers.size()), numbers.data());
    std::vector<std::byte> expected(found.size());
    QuantizeNumbersOfRows(*after.format, numbers, 0, inputs, expected.data());
    EXPECT_EQ(found, expected) << before.name;
    EXPECT_NE(found, without) << before.name;
  }
}

TEST_F(Quantize, StatisticsOfOtherInputsAreRefused) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({.formats = {BlockFormat::kF16}})));
  const QuantizedModel model = Must(QuantizedModel::Plan(*file, Must(WeightRecipe::Parse("ffn_up=IQ4_NL"))));
  const Importance importance = ImportanceOf(*file, /*more_inputs=*/1);
  ThreadPool pool(2);
  EXPECT_EQ(model.Write(new_, pool, kNoProgress, &importance).message(),
            old_ + ": tensor blk.0.ffn_up.weight: statistics: found those of 65 inputs, expected 64: they are of another model");
  EXPECT_EQ(folder_.Files(), 1) << "the model alone";
}

TEST_F(Quantize, ChangesTheNamedTensorsAndNothingElse) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({.architecture = "gemma3"}).Number<uint32_t>("general.file_type", 7)));
  const std::pair<std::string, Formats> cases[] = {{"head=Q5_1,embedding=Q5_1", {.head = BlockFormat::kQ5_1}},
                                                   {"Q4_0", {.layers = BlockFormat::kQ4_0}},
                                                   {"F16,head=Q4_1,embedding=Q4_1", {BlockFormat::kF16, BlockFormat::kQ4_1}},
                                                   {"ffn_down=F16,Q4_0", {.layers = BlockFormat::kQ4_0, .down = BlockFormat::kF16}},
                                                   {"keep", {}}};
  for (const auto& [recipe, formats] : cases) {
    SCOPED_TRACE(recipe);
    ASSERT_EQ(Run(*file, recipe), absl::OkStatus());
    const auto changed = *GgufFile::Open(new_);
    ExpectTensors(*file, *changed, formats);
    for (const auto& [key, value] : file->metadata()) {
      const GgufValue* copy = changed->Find(key);
      if (key == "general.file_type" && formats.layers) {
        EXPECT_EQ(*changed->Uint(key), formats.layers == BlockFormat::kQ4_0 ? 2 : 1) << "what most layers are now";
        continue;
      }
      ASSERT_NE(copy, nullptr) << key;
      EXPECT_EQ(copy->type, value.type) << key;
      EXPECT_EQ(copy->element_type, value.element_type) << key;
      EXPECT_EQ(copy->bytes, value.bytes) << key;
    }
  }
}

// Some readers refuse files of blocks without them.
TEST_F(Quantize, KeysThatOthersAskForAreAdded) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({.formats = {BlockFormat::kF16}})));
  ASSERT_EQ(file->Find("general.file_type"), nullptr);
  ASSERT_EQ(Run(*file, "Q8_0"), absl::OkStatus());
  const auto changed = *GgufFile::Open(new_);
  EXPECT_EQ(*changed->Uint("general.file_type"), 7u);
  EXPECT_EQ(*changed->Uint("general.quantization_version"), 2u);
}

TEST_F(Quantize, TensorsThatCannotBeCopiedAreNamed) {
  GgufBuilder builder = TinyModelBuilder({.architecture = "gemma3"});
  builder.Tensor("v.patch.weight", {64}, /*gguf_type=*/200, std::string(64, '\0'));
  const auto file = *GgufFile::Open(Written(std::move(builder)));
  const QuantizedModel model = *QuantizedModel::Plan(*file, *WeightRecipe::Parse("Q4_0"));
  EXPECT_EQ(model.left_out(), std::vector<std::string>{"v.patch.weight"});
}

TEST_F(Quantize, FormatsThatAreThereAlreadyGiveTheSameNumbersOfBytes) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({}).Number<uint32_t>("general.file_type", 7)));
  const QuantizedModel same = *QuantizedModel::Plan(*file, *WeightRecipe::Parse("Q8_0,head=Q8_0,embedding=Q8_0"));
  EXPECT_EQ(same.changed(), 0);
  const QuantizedModel other = *QuantizedModel::Plan(*file, *WeightRecipe::Parse("head=Q4_0,embedding=Q4_0"));
  EXPECT_EQ(other.changed(), 2) << "the embedding table and the head";
  EXPECT_EQ(other.FormatOf("output.weight"), BlockFormat::kQ4_0);
  EXPECT_EQ(other.FormatOf("blk.0.ffn_up.weight"), BlockFormat::kQ8_0);
  EXPECT_EQ(*same.FileSize() - *other.FileSize(), 2 * kTinyVocabulary * 64 / 32 * (34 - 18));
}

TEST_F(Quantize, TwoDimensionsDoNotMakeAMatrix) {
  GgufBuilder builder = TinyModelBuilder({.without = {"blk.0.attn_norm.weight", "output_norm.weight"}});
  const std::string names[] = {"blk.0.attn_norm.weight", "output_norm.weight", "blk.0.attn_q.bias"};
  for (const std::string& name : names) builder.Tensor(name, {64, 1}, /*gguf_type=*/0, std::string(64 * sizeof(float), '\0'));
  const auto file = *GgufFile::Open(Written(std::move(builder)));
  ASSERT_EQ(Run(*file, "Q4_0"), absl::OkStatus());
  const auto changed = *GgufFile::Open(new_);
  for (const std::string& name : names) {
    EXPECT_EQ(changed->FindTensor(name)->format->format, BlockFormat::kF32) << name;
  }
}

TEST_F(Quantize, ASplitModelBecomesOneFile) {
  const SplitModel split(TinyModelBuilder({}).Split(3));
  const auto file = *GgufFile::Open(split.Path(0));
  ASSERT_EQ(Run(*file, "head=Q4_1,embedding=Q4_1"), absl::OkStatus());
  const auto one = *GgufFile::Open(new_);
  EXPECT_EQ(one->parts(), 1);
  EXPECT_EQ(one->Find("split.count"), nullptr);
  ExpectTensors(*file, *one, {.head = BlockFormat::kQ4_1});
}

TEST_F(Quantize, AnotherAlignmentIsNotCopied) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({}).Alignment(128)));
  ASSERT_EQ(Run(*file, "Q4_0"), absl::OkStatus());
  ExpectTensors(*file, **GgufFile::Open(new_), {.layers = BlockFormat::kQ4_0});
}

TEST_F(Quantize, DimensionsOf1BehindAMatrixChangeNothing) {
  GgufBuilder builder = TinyModelBuilder({.without = {"blk.0.ffn_up.weight"}});
  builder.Tensor("blk.0.ffn_up.weight", {64, 96, 1}, /*gguf_type=*/0, std::string(64 * 96 * sizeof(float), '\0'));
  const auto file = *GgufFile::Open(Written(std::move(builder)));
  ASSERT_EQ(Run(*file, "Q4_0"), absl::OkStatus());
  EXPECT_EQ((*GgufFile::Open(new_))->FindTensor("blk.0.ffn_up.weight")->format->format, BlockFormat::kQ4_0);
}

// A copy without it, or with it, would be refused when it is run.
TEST_F(Quantize, ATensorThatNothingReadsIsNamed) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({}).Tensor("blk.0.attn_sinks.weight", {4}, 0, std::string(16, '\0'))));
  const absl::Status status = Run(*file, "head=Q4_1,embedding=Q4_1");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_TRUE(absl::StartsWith(status.message(), old_ + ": tensor \"blk.0.attn_sinks.weight\": found")) << status;
}

TEST_F(Quantize, FormsThatGgufCannotHoldAreNamed) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({})));
  const std::pair<std::string, std::string> cases[] = {
      {"ffn_up=int4-tile", "blk.0.ffn_up.weight: found the form int4-tile, expected a block format: GGUF has no int4-tile"},
      {"head=T2", "output.weight: found the form T2, expected a block format: GGUF has no T2"}};
  for (const auto& [recipe, expected] : cases) {
    const absl::Status status = Run(*file, recipe);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_EQ(status.message(), absl::StrCat(old_, ": tensor ", expected));
  }
  const auto name = [&](const std::string& recipe) { return *QuantizedModel::NotInGguf(*file, *WeightRecipe::Parse(recipe)); };
  EXPECT_EQ(name("001"), "int4-tile");
  EXPECT_EQ(name("Q4_0,head=T3"), "T3");
  EXPECT_EQ(name("Q4_0,head=Q8_0"), "");
}

TEST_F(Quantize, ARuleForAMissingTensorIsAnError) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({.tied = true})));
  const absl::Status status = Run(*file, "embedding=Q4_0");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_TRUE(absl::StartsWith(status.message(), old_ + ": recipe: found embedding=Q4_0")) << status;
}

// A tiny model whose embedding table, and head, has these numbers.
GgufBuilder ModelWithTable(const std::vector<float>& numbers) {
  GgufBuilder builder = TinyModelBuilder({.tied = true, .without = {"token_embd.weight"}});
  const std::string bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  builder.Tensor("token_embd.weight", {64, numbers.size() / 64}, 0, bytes);
  return builder;
}

TEST_F(Quantize, ANumberThatCannotBeRoundedIsNamedAndTheOldFileStays) {
  ASSERT_EQ(WriteFileAtomically(new_, "as it was"), absl::OkStatus());
  std::vector<float> numbers(64 * kTinyVocabulary, 1);
  const auto expect = [&](const std::string& expected, BlockFormat format) {
    const auto file = *GgufFile::Open(Written(ModelWithTable(numbers)));
    const absl::Status status = Run(*file, absl::StrCat("head=", InfoOf(format).name));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), old_) && absl::StrContains(status.message(), "token_embd.weight") &&
                absl::StrContains(status.message(), expected)) << status;
  };
  numbers[70] = 1e30f;
  expect("number 70: found 1e+30, expected at most 65504 in Q4_1", BlockFormat::kQ4_1);
  numbers[70] = std::numeric_limits<float>::quiet_NaN();
  expect("F32 value 70", BlockFormat::kQ4_1);
  EXPECT_EQ(*ReadFileToString(new_, 100), "as it was");
}

TEST_F(Quantize, RowsTooShortForAKFormatTakeTheNextOne) {
  const auto file = *GgufFile::Open(Written(TinyModelBuilder({})));   // Rows of 64 and 128 weights.
  ASSERT_EQ(Run(*file, "Q4_K,head=Q6_K"), absl::OkStatus());
  const auto copy = *GgufFile::Open(new_);
  const WeightRecipe recipe = *WeightRecipe::Parse("Q4_K,head=Q6_K");
  const std::vector<FormInstead> instead = FormsInstead(*file, /*tied_head=*/false, recipe);
  ASSERT_GT(instead.size(), 7u);
  for (const FormInstead& one : instead) {
    EXPECT_EQ(copy->FindTensor(one.tensor)->format->format, one.taken) << one.tensor;
    EXPECT_EQ(one.taken, one.tensor == "output.weight" ? BlockFormat::kQ8_0 : BlockFormat::kQ5_0) << one.tensor;
  }
  const std::string text = FormsInsteadText(instead);
  const std::string of_head = "Q8_0 instead of Q6_K in 1 matrix (output), whose rows of 64 weights are no whole blocks of 256";
  EXPECT_TRUE(absl::StrContains(text, of_head)) << text;
  EXPECT_TRUE(absl::StrContains(text, "Q5_0 instead of Q4_K in ")) << text;
  EXPECT_EQ(FormsInsteadText(FormsInstead(*file, false, *WeightRecipe::Parse("Q4_0"))), "");
}

}  // namespace
}  // namespace tessera
