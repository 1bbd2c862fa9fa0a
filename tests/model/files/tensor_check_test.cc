#include "tessera/model/files/internal/tensor_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"
#include "tessera/model/files/pack.h"
#include "tessera/model/files/quantize.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/model/files/verify.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr uint32_t kF32 = 0, kI64 = 27, kUnknown = 99;  // GGUF types.

// What each part of the engine says of a file: a run, packing, quantizing and verifying.
struct Verdicts {
  absl::Status run, pack, quantize;
  VerifyReport verify;

  bool AllOk() const { return run.ok() && pack.ok() && quantize.ok() && verify.problems.empty(); }
};

absl::Status PlanOf(const GgufFile& file) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  return WeightLayout::Plan(file, config, WeightEncoding::kPacked).status();
}

Verdicts JudgeFile(const std::string& path) {
  Verdicts verdicts;
  const auto file = GgufFile::Open(path);
  if (file.ok()) {
    verdicts.run = PlanOf(**file);
    verdicts.pack = PackPlan::Make(**file).status();
    verdicts.quantize = QuantizedModel::Plan(**file, *WeightRecipe::Parse("head=Q4_1")).status();
  } else {
    verdicts.run = verdicts.pack = verdicts.quantize = file.status();
  }
  ThreadPool pool(1);
  verdicts.verify = VerifyModel(path, pool, [](int64_t, int64_t) {});
  return verdicts;
}

class TensorCheckTest : public testing::Test {
 protected:
  Verdicts Judge(GgufBuilder builder) const {
    builder.WriteTo(path_);
    return JudgeFile(path_);
  }
  void ExpectRefused(GgufBuilder builder, const std::string& tensor, const std::string& found) const {
    SCOPED_TRACE(tensor);
    const Verdicts verdicts = Judge(std::move(builder));
    const std::string begin = absl::StrCat(path_, ": tensor \"", tensor, "\"", found);
    for (const absl::Status& status : {verdicts.run, verdicts.pack, verdicts.quantize}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_TRUE(absl::StartsWith(status.message(), begin)) << status;
    }
    ASSERT_FALSE(verdicts.verify.problems.empty());
    EXPECT_EQ(verdicts.verify.problems[0].message, verdicts.run.message());
    EXPECT_EQ(verdicts.verify.problems[0].tensor, tensor);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.gguf");
};

std::string Zeros(size_t numbers) { return std::string(numbers * sizeof(float), '\0'); }

TEST_F(TensorCheckTest, HeaderExample) {
  TinyModelBuilder({}).Tensor("blk.1.attn_q_norm.weight", {16}, kF32, Zeros(16)).WriteTo(path_);
  const auto opened = Must(GgufFile::Open(path_));
  const GgufFile& file = *opened;
  const ModelConfig config = Must(ReadModelConfig(file));
  std::vector<std::string> shown;
  const auto Show = [&](const std::string& tensor, const absl::Status& status) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    shown.push_back(tensor);
  };
  const TensorCheck check = CheckTensors(file, config);
  for (const TensorProblem& problem : check.problems) Show(problem.tensor, problem.status);
  EXPECT_EQ(shown, std::vector<std::string>{"blk.1.attn_q_norm.weight"});
  EXPECT_EQ(std::count(check.used.begin(), check.used.end(), false), 1);
}

// A bias that other engines apply is used; any other is refused by its name.
TEST_F(TensorCheckTest, EachArchitectureTakesItsBiasesAndNoOther) {
  for (const std::string architecture : kArchitectures) {
    std::vector<std::string> taken = {"attn_q.bias", "attn_k.bias", "attn_v.bias"}, refused = {"attn_norm.bias", "ffn_norm.bias"};
    for (const char* bias : {"attn_output.bias", "ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"}) {
      (architecture == "llama" ? taken : refused).push_back(bias);
    }
    const GgufBuilder plain = TinyModelBuilder({.architecture = architecture,
                                                .without = {"blk.1.attn_q.bias", "blk.1.attn_k.bias", "blk.1.attn_v.bias"}});
    const auto with = [&](const std::string& name) {
      const bool wide = absl::StrContains(name, "gate") || absl::StrContains(name, "up.");
      const bool key = absl::StrContains(name, "attn_k") || absl::StrContains(name, "attn_v");
      const uint64_t size = wide ? 96 : key ? 32 : name == "output.bias" ? uint64_t{kTinyVocabulary} : 64;
      return GgufBuilder(plain).Tensor(name, {size}, kF32, Zeros(size));
    };
    EXPECT_TRUE(Judge(plain).AllOk()) << architecture;
    for (const std::string& bias : taken) EXPECT_TRUE(Judge(with("blk.1." + bias)).AllOk()) << architecture << " " << bias;
    for (const std::string& bias : refused) {
      ExpectRefused(with("blk.1." + bias), "blk.1." + bias, absl::StrCat(": found a tensor that no part of a ", architecture));
    }
    if (architecture == "qwen2") {
      EXPECT_TRUE(Judge(with("output.bias")).AllOk());
    } else {
      ExpectRefused(with("output.bias"), "output.bias", ": found a tensor that no part of a " + architecture);
    }
  }
}

// Whatever type it has, and whatever numbers.
TEST_F(TensorCheckTest, ATensorThatChangesNoTextRefusesNoFile) {
  const std::pair<std::string, std::string> harmless[] = {
      {"llama", "blk.0.attn_rot_embd"},           {"qwen2", "blk.1.attn_rot_embd.weight"}, {"llama", "blk.0.attn.rotary_emb.inv_freq"},
      {"gemma3", "embeddings.position_ids"},      {"llama", "blk.0.attn.masked_bias"},     {"qwen3", "cls.output.weight"},
      {"gemma3", "v.blk.0.attn_q.weight"},        {"gemma3", "mm.input_projection.weight"}};
  const std::string not_numbers("\0\0\xc0\x7f\0\0\x80\xff", 8);
  for (const auto& [architecture, tensor] : harmless) {
    for (const uint32_t type : {kF32, kI64, kUnknown}) {
      SCOPED_TRACE(absl::StrCat(tensor, " of type ", type));
      const TinyModel tiny = {.architecture = architecture};
      const Verdicts verdicts = Judge(TinyModelBuilder(tiny).Tensor(tensor, {2}, type, not_numbers));
      EXPECT_TRUE(verdicts.AllOk()) << verdicts.run << verdicts.pack << verdicts.quantize;
      EXPECT_EQ(verdicts.verify.unused_tensors, 1);
      EXPECT_EQ(verdicts.verify.unused_reasons, std::vector<std::string>{std::string(WhyHarmless(architecture, tensor))});
      EXPECT_EQ(Must(GgufFile::Open(path_))->unread_tensors().size(), type == kF32 ? 0u : 1u);
    }
    EXPECT_FALSE(WhyHarmless(architecture, tensor).empty());
  }
}

TEST_F(TensorCheckTest, ATensorHarmlessForOneArchitectureMayBeRefusedForAnother) {
  for (const char* tensor : {"v.blk.0.attn_q.weight", "cls.output.weight"}) {
    ExpectRefused(TinyModelBuilder({}).Tensor(tensor, {2}, kF32, Zeros(2)), tensor, ": found a tensor that no part of a llama");
    ExpectRefused(TinyModelBuilder({}).Tensor(tensor, {2}, kUnknown, Zeros(2)), tensor, " type at byte ");
  }
}

// A name that is not known is no excuse for a format that is not.
TEST_F(TensorCheckTest, AnyOtherTensorInAFormatThatIsNotReadRefusesTheFile) {
  for (const char* tensor : {"rope_freqs.weight", "blk.0.attn_q.bias", "anything", "blk.0.attn_rot_embd.bias"}) {
    const Verdicts verdicts = Judge(TinyModelBuilder({}).Tensor(tensor, {8}, kUnknown, Zeros(8)));
    const std::string begin = absl::StrCat(path_, ": tensor \"", tensor, "\" type at byte ");
    for (const absl::Status& status : {verdicts.run, verdicts.pack, verdicts.quantize}) {
      EXPECT_TRUE(absl::StartsWith(status.message(), begin)) << status;
    }
    ASSERT_EQ(verdicts.verify.problems.size(), 1u);
  }
}

TEST_F(TensorCheckTest, PartsOfASplitModelMayHoldThem) {
  const GgufBuilder builder = TinyModelBuilder({}).Tensor("blk.0.attn_rot_embd", {2}, kUnknown, Zeros(2));
  const SplitModel model(builder.Split(3));
  const Verdicts verdicts = JudgeFile(model.Path(0));
  EXPECT_TRUE(verdicts.AllOk()) << verdicts.run;
  EXPECT_EQ(verdicts.verify.unused_tensors, 1);
}

// As llama.cpp multiplies NVFP4 matrices by: without them all would be of another size.
TEST_F(TensorCheckTest, AFactorOfAMatrixIsNamed) {
  for (const char* const scale : {"blk.0.attn_q.scale", "blk.1.ffn_down.scale", "output.scale", "blk.0.ffn_up.input_scale"}) {
    const GgufBuilder builder = TinyModelBuilder({}).Tensor(scale, {1}, kF32, Zeros(1));
    ExpectRefused(builder, scale, ": found a tensor that no part of a llama model reads (not supported here: a factor of a ");
  }
}

// The key counts fewer layers than there are.
TEST_F(TensorCheckTest, ALayerThatIsNotCountedIsNamed) {
  GgufBuilder builder = TinyModelBuilder({.layers = 3});
  builder.Corrupt<uint32_t>("metadata llama.block_count value", 2);
  ExpectRefused(builder, "blk.2.attn_norm.weight",
                ": found a tensor of a later layer, expected none beyond layer 1: llama.block_count is 2");
}

TEST_F(TensorCheckTest, DimensionsOf1BehindTheOthersChangeNothing) {
  GgufBuilder builder = TinyModelBuilder({.without = {"blk.0.attn_norm.weight", "output_norm.weight", "token_embd.weight"}});
  builder.Tensor("blk.0.attn_norm.weight", {64, 1}, kF32, Zeros(64)).Tensor("output_norm.weight", {64, 1, 1, 1}, kF32, Zeros(64));
  builder.Tensor("token_embd.weight", {64, kTinyVocabulary, 1}, kF32, Zeros(64 * kTinyVocabulary));
  EXPECT_TRUE(Judge(builder).AllOk());
  EXPECT_EQ(Must(ReadModelConfig(*Must(GgufFile::Open(path_)))).vocabulary, kTinyVocabulary);
}

TEST_F(TensorCheckTest, AHeadOfItsOwnIsUsedWhereTheTableCouldBe) {
  for (const char* architecture : kArchitectures) {
    Judge(TinyModelBuilder({.architecture = architecture}));
    const auto file = Must(GgufFile::Open(path_));
    const ModelConfig config = Must(ReadModelConfig(*file));
    EXPECT_FALSE(config.tied_head);
    EXPECT_FALSE(Must(WeightLayout::Plan(*file, config, WeightEncoding::kPacked)).Parts("output.weight").empty());
  }
}

// Loading stops at a problem that verifying finds, too.
TEST_F(TensorCheckTest, VerifyingFindsTheProblemsThatLoadingRefuses) {
  int refused = 0;
  for (const BadFile& bad : BadModelFiles()) {
    const auto parsed = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bad.bytes.data()), bad.bytes.size()}, "bad"));
    if (PlanOf(*parsed).ok()) continue;  // Its tokenizer is wrong, or a number.
    ++refused;
    std::ofstream(path_, std::ios::binary) << bad.bytes;
    const Verdicts verdicts = JudgeFile(path_);
    const auto& problems = verdicts.verify.problems;
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [&](const FileProblem& p) { return p.message == verdicts.run.message(); }))
        << bad.name << ": " << verdicts.run;
    EXPECT_EQ(verdicts.pack, verdicts.run) << bad.name;
    EXPECT_EQ(verdicts.quantize, verdicts.run) << bad.name;
  }
  EXPECT_GT(refused, 60);
}

}  // namespace
}  // namespace tessera
