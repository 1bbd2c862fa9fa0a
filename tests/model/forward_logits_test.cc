// Logits of tiny models with each optional tensor there and not there, against a plain forward pass in FP64 (forward_logits.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/model/files/model_file.h"
#include "tessera/tests/fakes/forward_model.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/packed_file.h"

namespace tessera {
namespace {

using F = BlockFormat;

// FP32 sums of some hundred numbers near 1 in each of 14 parts of a layer. The fast path also keeps keys and values in FP16, which are off
// by 2^-12 of their size.
constexpr double kReferenceTolerance = 5e-5, kFastTolerance = 5e-3;
constexpr double kSmallestEffect = 2e-2;  // What each optional tensor does to some logit.

double Farthest(const std::vector<double>& expected, const std::vector<float>& logits) {
  double farthest = 0;
  for (size_t i = 0; i < expected.size(); ++i) farthest = std::max(farthest, std::fabs(expected[i] - double{logits[8 * i]}));
  return farthest;
}

// The models as files in a folder of their own.
class ForwardLogits : public testing::Test {
 protected:
  std::string Written(const ForwardCase& line, F format) const {
    std::ofstream(path_, std::ios::binary) << ForwardModel(line, format);
    return path_;
  }

  const std::vector<ForwardCase> cases_ = ForwardCases();
  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.gguf");
};

TEST_F(ForwardLogits, HeaderExample) {
  int compared = 0;
  const auto Compare = [&](const std::string& bytes, const std::vector<TokenId>& tokens, const std::vector<double>& logits) {
    compared += !bytes.empty() && !tokens.empty() && logits.size() == 34;
  };
  for (const ForwardCase& line : ForwardCases()) Compare(ForwardModel(line, BlockFormat::kF16), line.tokens, line.logits);
  EXPECT_EQ(compared, 38);
}

// Otherwise a model without its biases could pass.
TEST_F(ForwardLogits, EveryOptionalTensorMovesLogitsFarBeyondTheTolerance) {
  std::map<std::string, const ForwardCase*> known;
  for (const ForwardCase& line : cases_) known[line.Name()] = &line;
  int pairs = 0;
  for (const ForwardCase& line : cases_) {
    for (const std::string& tensor : line.optional) {
      ForwardCase without = line;
      without.optional.erase(tensor);
      const auto other = known.find(without.Name());
      if (other == known.end()) continue;
      ++pairs;
      double effect = 0;
      for (size_t i = 0; i < line.logits.size(); ++i) effect = std::max(effect, std::fabs(line.logits[i] - other->second->logits[i]));
      EXPECT_GT(effect, kSmallestEffect) << line.Name() << ": " << tensor;
    }
  }
  EXPECT_GT(pairs, 22);  // Each bias alone, the head's twice, factors, and four heads.
  EXPECT_GT(kSmallestEffect, 3 * kFastTolerance);
}

TEST_F(ForwardLogits, TheReferencePathAgrees) {
  for (const ForwardCase& line : cases_) {
    const LoadedWeights model(Written(line, F::kF32), WeightEncoding::kFloat32);
    EXPECT_LT(Farthest(line.logits, Machine(model, {}).Plain(line.tokens)), kReferenceTolerance) << line.Name();
  }
}

// One token at a time and all in one pass, on every path of kernels, on a device of static graphs, with units so small that the head and
// its bias are cut.
TEST_F(ForwardLogits, TheFastPathAgreesAndItsBitsDependOnNothingElse) {
  for (size_t i = 0; i < cases_.size(); ++i) {
    const ForwardCase& line = cases_[i];
    SCOPED_TRACE(line.Name());
    const LoadedWeights model(Written(line, i % 2 == 0 ? F::kF16 : F::kF32));
    const std::vector<float> plain = Machine(model, {}).Plain(line.tokens);
    EXPECT_LT(Farthest(line.logits, plain), kFastTolerance);
    for (const KernelPath path : SupportedKernelPaths()) {
      for (const int static_graphs : {0, 2}) {
        const int threads = static_graphs == 0 && i % 8 == 1 ? 2 : 1;
        Machine machine(model, {.threads = threads, .path = path, .static_graphs = static_graphs});
        EXPECT_EQ(machine.Extend(machine.cache().NewSequence(), line.tokens).back(), plain) << KernelPathName(path);
      }
    }
  }
}

// What the packed file holds is what was computed with, bias for bias.
TEST_F(ForwardLogits, PackedFilesGiveTheSameBits) {
  for (const ForwardCase& line : cases_) {
    SCOPED_TRACE(line.Name());
    const LoadedWeights model(Written(line, F::kF16));
    const PackedModel packed(path_);
    const auto file = Must(ModelFile::Open(packed.path()));
    ThreadPool pool(1);
    const ModelConfig config = Must(ReadModelConfig(file->gguf()));
    EXPECT_TRUE(config == model.config());
    const auto source = Must(file->LoadWeights(Must(file->PlanWeights(config, WeightEncoding::kPacked)), pool));
    EXPECT_EQ(Machine(model, {.source = source.get()}).Plain(line.tokens), Machine(model, {}).Plain(line.tokens));
  }
}

// The head's bias is cut where the head is, whatever the format of either.
TEST_F(ForwardLogits, AHeadInPartsTakesItsPartsOfTheBias) {
  for (const bool tied : {false, true}) {
    TinyModel tiny = {.architecture = "qwen2", .tied = tied, .formats = {F::kQ8_0}, .biases = {"output.bias"}, .seed = 3};
    const LoadedWeights whole(TinyModelBuilder(tiny)), cut(TinyModelBuilder(tiny), WeightEncoding::kPacked, /*largest_unit=*/5000);
    const LoadedWeights alone(TinyModelBuilder(tiny), WeightEncoding::kPacked, /*largest_unit=*/1);
    tiny.without = {"output.bias"};
    const LoadedWeights without(TinyModelBuilder(tiny));
    const std::vector<TokenId> tokens = {7, 70, 170, 3, 9};
    ASSERT_EQ(whole.layout().Parts("output.bias").size(), 1u);
    ASSERT_GT(cut.layout().Parts("output.bias").size(), 2u);
    const std::vector<float> expected = Machine(whole, {}).Plain(tokens), unbiased = Machine(without, {}).Plain(tokens);
    EXPECT_EQ(Machine(cut, {.threads = 2}).Plain(tokens), expected);
    EXPECT_EQ(Machine(alone, {}).Plain(tokens), expected);
    const GgufTensor& bias = *whole.file().FindTensor("output.bias");
    std::vector<float> numbers(kTinyVocabulary);
    Must(whole.file().Read(bias, 0, {reinterpret_cast<std::byte*>(numbers.data()), numbers.size() * sizeof(float)}));
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(expected[i], unbiased[i] + numbers[i]) << i;
  }
}

}  // namespace
}  // namespace tessera
