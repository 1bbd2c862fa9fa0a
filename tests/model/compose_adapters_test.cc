// Adapters composed of several: their sum, to the truth; their formats and bytes; what cannot be composed.
#include "tessera/model/compose_adapters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/adapter_set.h"
#include "tessera/tests/fakes/adapter_logits.h"
#include "tessera/tests/fakes/adapter_numbers.h"
#include "tessera/tests/fakes/adapter_truth.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/random_adapter.h"

namespace tessera {
namespace {

LoraAdapter Golden(const LoadedWeights& model, const std::string& name, float scale = 1) {
  return Must(MakeLoraAdapter(Must(ReadAdapter(GoldenPath("lora/" + name), model.file(), model.config())), model.config(), scale));
}

absl::StatusOr<int64_t> Example(const LoraAdapter& style, const LoraAdapter& facts, const std::vector<LoraShape>& shapes) {
  const AdapterShare parts[] = {{&style}, {&facts, /*scale=*/0.5f}};
  ASSIGN_OR_RETURN(const LoraPlan plan, PlanComposedAdapter(parts));
  ASSIGN_OR_RETURN(const LoraAdapter both, ComposeAdapters(parts));
  EXPECT_EQ(plan.ranks, both.Ranks());
  EXPECT_EQ(plan.BytesPaddedTo(plan.ranks, shapes), both.bytes());
  return both.bytes();
}

TEST(ComposeAdapters, HeaderExample) {
  const ModelConfig config = SmallConfig(2);
  const LoraAdapter style = RandomAdapter(config, 4, kAllTargets, 1, 2, BlockFormat::kF16), facts = RandomAdapter(config, 8, 5, 2);
  EXPECT_GT(Must(Example(style, facts, LoraShapesOf(config))), style.bytes() + facts.bytes());
}

// The same composition written once more, with numbers of FP32 and scales in B. leaves_out: a part whose scale is forgotten.
LoraAdapter WrittenOnceMore(const std::vector<AdapterShare>& parts, int leaves_out = -1) {
  const LoraAdapter& first = *parts[0].adapter;
  LoraAdapter composed = Must(LoraAdapter::Create(first.layers(), first.placeholders()));
  for (int place = 0; place < first.layers() * first.placeholders(); ++place) {
    LoraMatrices matrices = {.scale = 1};
    for (size_t i = 0; i < parts.size(); ++i) {
      const int layer = place / first.placeholders(), target = place % first.placeholders();
      const AdapterProduct& product = parts[i].adapter->Layer(layer)[static_cast<size_t>(target)];
      if (product.a == nullptr) continue;
      const LoraShape shape = parts[i].adapter->shape(place);
      matrices.in = shape.in, matrices.out = shape.out, matrices.rank += product.rank;
      const std::vector<float> a = WideA(product, shape.in), b = WideB(product, shape.out);
      matrices.a.insert(matrices.a.end(), a.begin(), a.end());
      const float scale = product.scale * (static_cast<int>(i) == leaves_out ? 1 : parts[i].scale);
      for (const float number : b) matrices.b.push_back(number * scale);
    }
    if (matrices.rank > 0) Must(composed.Set(place / first.placeholders(), place % first.placeholders(), matrices));
  }
  return composed;
}

// The truth adds the two products in FP64. A copy of the composition that leaves a scale out is far from it.
TEST(ComposeAdapters, TheSumIsWithinAThousandthOfTheTruth) {
  const std::string path = GoldenPath("tiny/llama.gguf");
  const LoadedWeights weights(path, WeightEncoding::kFloat32);
  Machine machine(weights, {.threads = 2});
  const LoraAdapter all = Golden(weights, "llama-all"), some = Golden(weights, "llama-qv.gguf");
  std::vector<TokenId> tokens = ReadGoldenLogits("lora/llama-all.logits.jsonl")[0].tokens;
  tokens.resize(48);
  for (const auto& [of_all, of_some] : {std::pair(1.0f, 0.5f), std::pair(0.3f, -1.7f)}) {
    SCOPED_TRACE(of_some);
    const std::vector<AdapterShare> parts = {{&all, of_all}, {&some, of_some}};
    const AdapterTruth truth(path, {{GoldenPath("lora/llama-all"), of_all}, {GoldenPath("lora/llama-qv"), of_some}});
    const AdapterTruth::Rows expected = truth.Logits(tokens);
    const LoraAdapter composed = Must(ComposeAdapters(parts)), right = WrittenOnceMore(parts), wrong = WrittenOnceMore(parts, 1);
    EXPECT_LE(FarthestFrom(expected, LogitsOf(machine, tokens, &composed)), 1e-3);
    EXPECT_LE(FarthestFrom(expected, LogitsOf(machine, tokens, &right)), 1e-3);
    EXPECT_GT(FarthestFrom(expected, LogitsOf(machine, tokens, &wrong)), 1e-2);
    EXPECT_GT(FarthestFrom(expected, LogitsOf(machine, tokens, &all)), 1e-2);
  }
}

TEST(ComposeAdapters, OneAtAScaleIsTheFilesAdapterAtThatScale) {
  const LoadedWeights weights(GoldenPath("tiny/llama.gguf"));
  const LoraAdapter whole = Golden(weights, "llama-all");
  for (const float scale : {0.5f, 0.3f, -2.0f, 0.0f}) {
    const AdapterShare part[] = {{&whole, scale}};
    EXPECT_EQ(Must(ComposeAdapters(part)).Sum(), Golden(weights, "llama-all", scale).Sum()) << scale;
  }
}

BlockFormat FormatOf(const std::vector<AdapterShare>& parts) { return Must(ComposeAdapters(parts)).Layer(0)[0].format; }

TEST(ComposeAdapters, NumbersTake16BitsWhereThatLosesNothing) {
  const ModelConfig config = SmallConfig(2);
  const LoraAdapter a = RandomAdapter(config, 4, kAllTargets, 1, 2, BlockFormat::kBF16),
                    b = RandomAdapter(config, 8, kAllTargets, 2, 2, BlockFormat::kBF16),
                    wide = RandomAdapter(config, 8, kAllTargets, 4, 2, BlockFormat::kF32);
  EXPECT_EQ(FormatOf({{&a}, {&b}}), BlockFormat::kBF16);
  EXPECT_EQ(Must(ComposeAdapters(std::vector<AdapterShare>{{&a}, {&b}})).bytes(), a.bytes() + b.bytes());
  EXPECT_EQ(FormatOf({{&a, 0.3f}, {&b, 0.3f}}), BlockFormat::kBF16) << "one scale";
  EXPECT_EQ(FormatOf({{&a}, {&b, -0.25f}}), BlockFormat::kF16) << "a power of two, and none of them is large";
  EXPECT_EQ(FormatOf({{&a}, {&b, 0.3f}}), BlockFormat::kF32);
  EXPECT_EQ(FormatOf({{&wide}, {&a}}), BlockFormat::kF32);
}

// One of one number each for A and B.
LoraAdapter OfNumber(float number) {
  LoraAdapter adapter = Must(LoraAdapter::Create(1, 1));
  Must(adapter.Set(0, 0, {.in = 1, .out = 1, .rank = 1, .scale = 1, .a = {number}, .b = {number}}));
  return adapter;
}

TEST(ComposeAdapters, FormatsThatDifferBecomeOneThatHoldsAllNumbers) {
  const LoraAdapter large = OfNumber(0x1p100f), fine = OfNumber(1 + 0x1p-10f), one = OfNumber(1);
  ASSERT_EQ(large.Layer(0)[0].format, BlockFormat::kBF16);
  ASSERT_EQ(fine.Layer(0)[0].format, BlockFormat::kF16);
  EXPECT_EQ(FormatOf({{&large}, {&fine}}), BlockFormat::kF32);
  EXPECT_EQ(FormatOf({{&large}, {&one}}), BlockFormat::kBF16);
  EXPECT_EQ(FormatOf({{&fine}, {&one}}), BlockFormat::kF16);
  const LoraAdapter both = Must(ComposeAdapters(std::vector<AdapterShare>{{&large}, {&fine}}));
  EXPECT_EQ(WideA(both.Layer(0)[0], 1), (std::vector<float>{0x1p100f, 1 + 0x1p-10f}));
  EXPECT_EQ(WideB(both.Layer(0)[0], 1), (std::vector<float>{0x1p100f, 1 + 0x1p-10f}));
}

// Ranks one behind another, each part's numbers as they were but for its share of the scale.
TEST(ComposeAdapters, NumbersAreTheNumbersOfThePartsInOrder) {
  const ModelConfig config = SmallConfig(2);
  const LoraAdapter a = RandomAdapter(config, 3, kAllTargets, 1, 2, BlockFormat::kBF16),
                    b = RandomAdapter(config, 5, 1u << static_cast<int>(LoraTarget::kDown), 2, 1, BlockFormat::kF16);
  const LoraAdapter composed = Must(ComposeAdapters(std::vector<AdapterShare>{{&a}, {&b, 3}}));
  const size_t down = static_cast<size_t>(LoraTarget::kDown);
  const AdapterProduct &both = composed.Layer(1)[down], &of_a = a.Layer(1)[down], &of_b = b.Layer(1)[down];
  EXPECT_EQ(both.rank, 8);
  EXPECT_EQ(both.scale, 3) << "the largest";
  std::vector<float> expected_a = WideA(of_a, 64), expected_b;
  for (const float number : WideA(of_b, 64)) expected_a.push_back(number);
  for (const float number : WideB(of_a, 64)) expected_b.push_back(static_cast<float>(double{number} * (2.0 / 3.0)));
  for (const float number : WideB(of_b, 64)) expected_b.push_back(number);
  EXPECT_EQ(WideA(both, 64), expected_a);
  EXPECT_EQ(WideB(both, 64), expected_b);
  EXPECT_EQ(composed.Layer(0)[0].rank, 3) << "only one part changes this matrix";
  EXPECT_EQ(composed.Layer(0)[0].format, BlockFormat::kBF16);
  EXPECT_NE(composed.Sum(), Must(ComposeAdapters(std::vector<AdapterShare>{{&b, 3}, {&a}})).Sum());
}

// Between matrices that parts change stand matrices that none does.
TEST(ComposeAdapters, EachMatrixThatAPartChangesIsThere) {
  const ModelConfig config = SmallConfig(2);
  const auto only = [](LoraTarget target) { return 1u << static_cast<int>(target); };
  const LoraAdapter a = RandomAdapter(config, 3, only(LoraTarget::kValue) | only(LoraTarget::kDown), 1),
                    b = RandomAdapter(config, 5, only(LoraTarget::kDown), 2);
  const std::vector<AdapterShare> parts = {{&a}, {&b}};
  std::vector<int> ranks;
  for (int place = 0; place < 2 * kLoraTargets; ++place) ranks.push_back(a.Ranks()[place] + b.Ranks()[place]);
  EXPECT_EQ(Must(ComposeAdapters(parts)).Ranks(), ranks);
  EXPECT_EQ(Must(PlanComposedAdapter(parts)).ranks, ranks);
}

TEST(ComposeAdapters, AnImpossibleCompositionIsNamed) {
  const ModelConfig config = SmallConfig(2);
  ModelConfig deeper = config, wider = config;
  deeper.layers.resize(3);
  wider.width = 128;
  const LoraAdapter large = RandomAdapter(config, 600, 1, 1), other = RandomAdapter(deeper, 4, 1, 2), wide = RandomAdapter(wider, 4, 1, 3),
                    loud = RandomAdapter(config, 4, 1, 4, 1e38f), faint = RandomAdapter(config, 4, 1, 5, 1e-38f);
  const auto error = [](const std::vector<AdapterShare>& parts) {
    const absl::Status status = ComposeAdapters(parts).status();
    EXPECT_EQ(status, PlanComposedAdapter(parts).status());
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(error({{&large}, {&large}}), "adapter layer 0 attn_q rank of all parts: found 1200, expected at most 1024");
  EXPECT_EQ(error({{&large}, {&other}}), "adapter layers x placeholders: found 3 x 7, expected 2 x 7, as the first part");
  EXPECT_EQ(error({{&large}, {&wide}}), "adapter layer 0 attn_q matrix: found 128 x 64, expected 64 x 64, as another part");
  EXPECT_EQ(error({{&loud, 1000}}), "adapter layer 0 attn_q scale: found 1e+41, expected a number that 32 bits hold");
  EXPECT_TRUE(absl::StrContains(error({{&faint, 1e-20f}}), "expected a number that 32 bits hold"));
}

}  // namespace
}  // namespace tessera
