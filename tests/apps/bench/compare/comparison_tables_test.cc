// Tables of perplexities: tessera_perplexity --table and tessera_quantize --table; and what they are made of.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/compare/comparison_table.h"
#include "tessera/apps/compare/logit_comparison.h"
#include "tessera/apps/compare/scheme_table.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr char kText[] = "a text of some length, so that there are windows of tokens to be read: and then some more of it, as it is";

TEST(SampleMean, HasTheMeanAndItsError) {
  SampleMean mean;
  EXPECT_EQ(mean.Error95(), 0);
  for (const double value : {1.0, 2.0, 3.0, 4.0}) mean.Add(value);
  EXPECT_DOUBLE_EQ(mean.mean(), 2.5);
  EXPECT_NEAR(mean.Error95(), 1.96 * std::sqrt(5.0 / 3 / 4), 1e-12);   // Variance 5 / 3, of four.
}

// By hand, from the logits that a session gives.
TEST(LogitComparison, ComparesEachTokenWithTheYardsticks) {
  const auto fast = TinyEngine({.seed = 3}, {.compute = {.threads = 1}});
  const auto npu = TinyEngine({.seed = 3}, {.compute = {.threads = 1, .path = ComputePath::kNpu, .recipe = "int4-tile"}});
  const auto yardstick = Must(fast->NewSession()), session = Must(npu->NewSession());
  const std::vector<std::vector<TokenId>> windows = {RandomTokens(40, 1), RandomTokens(5, 2)};
  LogitComparison comparison;
  int64_t told = 0;
  Must(CompareLogits(*yardstick, *session, windows, comparison, [&](int64_t tokens) { told += tokens; }));
  EXPECT_EQ(told, 39 + 4);
  EXPECT_EQ(comparison.nll.count(), 39 + 4);

  double expected = 0, found = 0, same = 0;
  const auto nll = [](absl::Span<const float> logits, TokenId token) {
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double{logit});
    return std::log(sum) - logits[static_cast<size_t>(token)];
  };
  for (const std::vector<TokenId>& window : windows) {
    yardstick->Truncate(0), session->Truncate(0);
    for (size_t i = 0; i + 1 < window.size(); ++i) {
      Must(yardstick->Append({&window[i], 1})), Must(session->Append({&window[i], 1}));
      const absl::Span<const float> a = yardstick->logits(), b = session->logits();
      expected += nll(a, window[i + 1]), found += nll(b, window[i + 1]);
      same += std::max_element(a.begin(), a.end()) - a.begin() == std::max_element(b.begin(), b.end()) - b.begin();
    }
  }
  EXPECT_NEAR(comparison.yardstick_nll.mean(), expected / 43, 1e-6);
  EXPECT_NEAR(comparison.nll.mean(), found / 43, 1e-6);
  EXPECT_NEAR(comparison.agreement.mean(), same / 43, 1e-9);
  EXPECT_GT(comparison.divergence.mean(), 0);
  EXPECT_NEAR(comparison.Ratio(), comparison.Perplexity() / comparison.YardstickPerplexity(), 1e-9);
}

TEST(LogitComparison, AnEngineAgreesWithItself) {
  const auto engine = TinyEngine({.seed = 3}, {.compute = {.threads = 1}, .workload = {.sessions = 2}});
  const auto a = Must(engine->NewSession()), b = Must(engine->NewSession());
  LogitComparison comparison;
  Must(CompareLogits(*a, *b, std::vector<std::vector<TokenId>>{RandomTokens(20, 1)}, comparison));
  EXPECT_EQ(comparison.Ratio(), 1);
  EXPECT_EQ(comparison.divergence.mean(), 0);
  EXPECT_EQ(comparison.agreement.mean(), 1);
}

TEST(SchemeTable, RecipesAreSeparatedBySemicolons) {
  const std::vector<WeightRecipe> recipes = Must(RecipesOfTable("int4-tile,ffn_down=int8-tile;qnn"));
  ASSERT_EQ(recipes.size(), 2u);
  EXPECT_EQ(recipes[0].name(), "001");
  EXPECT_EQ(recipes[1].name(), "qnn");
  EXPECT_GT(Must(RecipesOfTable("all")).size(), 10u);
  EXPECT_FALSE(RecipesOfTable("int4-tile;").ok());
}

JsonValue TableOf(const std::string& program, const std::vector<std::string>& flags) {
  std::vector<std::string> all = flags;
  for (const std::string flag : {"--json", "--window=16", "--max_windows=2", "--prompt"}) all.push_back(flag);
  all.back() += absl::StrCat("=", kText);
  all.push_back("--model=" + TinyPath("llama"));
  const Ended ended = RunProgram(program, all);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  return *JsonValue::Parse(ended.output);
}

TEST(ComparisonTables, AttentionGoesFromFp32ToTheTable) {
  const JsonValue table = TableOf("tessera_perplexity", {"--table=attention"});
  ASSERT_EQ(table.size(), 4);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(*table[i].String("compared_with"), i < 3 ? "FP32" : "and FP16 attention, exact 2^x");
    EXPECT_EQ(*table[i].Int("tokens"), 30);
    EXPECT_NEAR(*table[i].Double("ratio"), 1, 0.01);
    EXPECT_GT(*table[i].Double("perplexity"), 1);
  }
  EXPECT_EQ(*table[3].String("name"), "and FP16 attention, 2^x by table");
}

TEST(ComparisonTables, SchemesHaveBitsErrorsAndPerplexities) {
  const JsonValue table = TableOf("tessera_quantize", {"--table=int8-tile;int4-tile;int4-tensor;T2"});
  ASSERT_EQ(table.size(), 4);
  double before = 0;
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_GT(*table[i].Double("weight_error"), before) << i;   // Worse and worse.
    before = *table[i].Double("weight_error");
    EXPECT_EQ(*table[i].String("compared_with"), "fp16");
  }
  EXPECT_LT(*table[0].Double("weight_error"), 0.01);
  EXPECT_GT(*table[0].Double("bits_per_weight"), *table[1].Double("bits_per_weight"));
}

TEST(ComparisonTables, StatisticsAddRowsWhereScalesAreSearched) {
  const TemporaryFolder folder;
  const std::string statistics = folder.Path("statistics.gguf");
  ASSERT_EQ(RunProgram("tessera_quantize statistics", {absl::StrCat("--prompt=", kText), TinyPath("llama"), statistics}).code, 0);
  const JsonValue table = TableOf("tessera_quantize", {"--table=int4-tile;Q4_0;T2", "--statistics=" + statistics});
  const char* const names[] = {"int4-tile", "int4-tile with statistics", "Q4_0", "T2", "T2 with statistics"};
  ASSERT_EQ(table.size(), 5);
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(*table[i].String("name"), names[i]);
  for (const int64_t with : {1, 4}) {
    EXPECT_EQ(*table[with].Double("bits_per_weight"), *table[with - 1].Double("bits_per_weight"));
    EXPECT_NE(*table[with].Double("weight_error"), *table[with - 1].Double("weight_error"));
  }
  const Ended none = RunProgram("tessera_quantize", {"--table=Q4_0;int4-tensor", "--statistics=" + statistics, "--window=16",
                                                     "--model=" + TinyPath("llama")}, kText);
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.errors.find("statistics: found with a table of schemes whose scales are not searched"), std::string::npos) << none.errors;
}

TEST(ComparisonTables, FlagsWithoutEffectAreRefused) {
  const auto refused = [](const std::string& program, std::vector<std::string> flags) {
    flags.push_back("--model=" + TinyPath("llama"));
    const Ended ended = RunProgram(program, flags, kText);
    EXPECT_EQ(ended.code, 2) << ended.errors;
    return ended.errors;
  };
  EXPECT_NE(refused("tessera_perplexity", {"--table=schemes"}).find("table: found \"schemes\", expected attention"), std::string::npos);
  EXPECT_NE(refused("tessera_perplexity", {"--table=attention", "--path=npu"}).find("path: found it with --table"), std::string::npos);
  EXPECT_NE(refused("tessera_quantize", {"--table=all", "--out=x.tsr"}).find("out: found it with --table"), std::string::npos);
  EXPECT_NE(refused("tessera_quantize", {"--scheme=001", "--window=8"}).find("window: found it without --table"), std::string::npos);
  EXPECT_NE(refused("tessera_quantize", {"--table=int5"}).find("table: found the form \"int5\""), std::string::npos);
}

}  // namespace
}  // namespace tessera
