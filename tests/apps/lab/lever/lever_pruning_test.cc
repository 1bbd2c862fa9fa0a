// Pruning in tessera_lever: variants by predictor and rule, texts that stay the same, and figures beside lever's.
#include "tessera/apps/lab/lever/lever_pruning.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/lever/lever_models.h"
#include "tessera/apps/lab/lever/lever_report.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr char kAll[] = "lever,lever_pruned,lever_pruned_no_shadow,lever_pruned_no_safeguards";

std::vector<LeverSpec> SpecsOf(const std::string& systems, const std::string& prune, const std::string& sweep) {
  return Must(WithPruning(Must(LeverSpecs(systems, "", !prune.empty())), Must(LeverPruneAsked::Parse(prune, sweep))));
}

std::vector<std::string> Variants(const std::vector<LeverSpec>& specs) {
  std::vector<std::string> variants;
  for (const LeverSpec& spec : specs) variants.push_back(spec.variant);
  return variants;
}

TEST(LeverPruning, SystemsThatPruneAreOnePerPredictorAndRule) {
  EXPECT_EQ(Variants(SpecsOf("flash_ar,lever_pruned", "a", "")), (std::vector<std::string>{"flash_ar", "lever_pruned"}));
  EXPECT_EQ(Variants(SpecsOf("lever_pruned", "x/a;y/a", "")), (std::vector<std::string>{"lever_pruned:x/a", "lever_pruned:y/a"}));
  const std::vector<LeverSpec> specs = SpecsOf("lever_pruned,lever", "x/a;y/b", "threshold=0.02;always,tau=2");
  EXPECT_EQ(Variants(specs), (std::vector<std::string>{"lever_pruned:a,threshold=0.02", "lever_pruned:a,always,tau=2",
                                                       "lever_pruned:b,threshold=0.02", "lever_pruned:b,always,tau=2", "lever"}));
  EXPECT_EQ(specs[1].predictor, 0);
  EXPECT_EQ(specs[2].predictor, 1);
  EXPECT_EQ(specs[2].rule.threshold, 0.02f);
  EXPECT_EQ(specs[3].rule.temperature, 2);
  EXPECT_EQ(specs[3].rule.threshold, PruneOptions().threshold);
  EXPECT_TRUE(specs[3].always_prunes && !specs[2].always_prunes);
  EXPECT_EQ(specs[3].tree, "lever");
}

TEST(LeverPruning, AnAblationHasItsOwnWordWhateverTheRule) {
  const std::vector<LeverSpec> specs = SpecsOf(kAll, "a", "threshold=0.5");
  EXPECT_TRUE(specs[1].rule.with_shadow_tokens && specs[1].rule.with_safeguards);
  EXPECT_TRUE(!specs[2].rule.with_shadow_tokens && specs[2].rule.with_safeguards);
  EXPECT_TRUE(specs[3].rule.with_shadow_tokens && !specs[3].rule.with_safeguards);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(specs[i].rule.threshold, 0.5f);
}

TEST(LeverPruning, WithoutAPredictorAllMeansTheSystemsThatDoNotPrune) {
  for (const bool prunes : {false, true}) {
    int pruned = 0;
    for (const LeverSpec& spec : Must(LeverSpecs("all", "", prunes))) pruned += spec.prunes ? 1 : 0;
    EXPECT_EQ(pruned, prunes ? 3 : 0);
  }
}

TEST(LeverPruning, WrongPruningFlagsAreNamed) {
  const auto refusal = [](const std::string& systems, const std::string& prune, const std::string& sweep) {
    const absl::StatusOr<LeverPruneAsked> asked = LeverPruneAsked::Parse(prune, sweep);
    if (!asked.ok()) return std::string(asked.status().message());
    return std::string(WithPruning(Must(LeverSpecs(systems, "", true)), *asked).status().message());
  };
  EXPECT_TRUE(absl::StrContains(refusal("lever_pruned", "a;;b", ""), "prune: found \"\", expected files of predictors"));
  EXPECT_TRUE(absl::StrContains(refusal("lever_pruned", "a;a", ""), "prune: found \"a\" twice"));
  EXPECT_TRUE(absl::StrContains(refusal("lever_pruned", "", "threshold=1"), "prune_sweep: found without --prune, expected both"));
  EXPECT_TRUE(absl::StrContains(refusal("lever_pruned", "a", "tau=1;tau=1"), "prune_sweep: found \"tau=1\" twice"));
  EXPECT_TRUE(absl::StrContains(refusal("lever_pruned", "a", "shadow=0"), "prune_sweep: pruning: found shadow, expected one of threshold"));
  EXPECT_TRUE(absl::StrContains(refusal("lever_pruned", "a", "always=1"), "found always, expected"));
  EXPECT_TRUE(absl::StrContains(refusal("lever_pruned", "", ""), "systems: found lever_pruned without --prune, expected both"));
  EXPECT_TRUE(absl::StrContains(refusal("lever", "a", ""), "prune: found it with systems that do not prune, expected lever_pruned among"));
}

// A target whose texts do not end, the same model as its draft, and two predictors that know nothing.
class LeverPruningRuns : public testing::Test {
 protected:
  LeverPruningRuns() {
    ModelConfig config;
    config.width = 64, config.vocabulary = kTinyVocabulary;
    config.layers.resize(kLayers);
    WritePredictor(rows_, RandomPredictor(config, "vocabulary", /*layer=*/1, /*seed=*/3));
    WritePredictor(map_, RandomPredictor(config, "width", /*layer=*/3, /*seed=*/4));
  }

  // With a copy in few bits as its draft, and all weights in memory.
  Ended Run(std::vector<std::string> flags) const {
    const std::string data = absl::StrCat("--data=", TESSERA_SOURCE_DIR, "/tests/data/speculation");
    flags.insert(flags.begin(), {"--model=" + packed_.gguf(), "--draft_model=self:q4", "--threads=1", data, "--texts=1",
                                 "--generate_tokens=12", "--context=2000", "--categories=gsm8k"});
    return RunProgram("tessera_lever", flags);
  }

  static constexpr int kLayers = 4;
  const PackedModel packed_{TinyModelBuilder({.layers = kLayers, .context = 2048, .writes_letters = true})};
  const TemporaryFolder folder_;
  const CacheFolderFor cache_{folder_.path()};
  const std::string rows_ = folder_.Path("rows.safetensors"), map_ = folder_.Path("map.safetensors");
};

TEST_F(LeverPruningRuns, TextsAreTheSameAndPruningIsCounted) {
  for (const double ring_share : {0.0, 0.25}) {
    SCOPED_TRACE(ring_share);
    const LeverModels::Options options = {.target = {.model_path = packed_.path(), .compute = {.threads = 2}, .cache = {.context = 256}},
                                          .draft_model = packed_.gguf(),
                                          .predictors = {rows_, map_},
                                          .ring_share = ring_share};
    const auto models = Must(LeverModels::Load(options));
    std::vector<LeverSpec> specs = SpecsOf(kAll, absl::StrCat(rows_, ";", map_), "always,threshold=0.6");
    for (LeverSpec& spec : specs) spec.tree = "eagle2:width=3,depth=4,nodes=12";   // Has rows whatever a pass takes.
    const LeverOptions asked = {.systems = specs,
                                .sets = {{.name = "one", .prompts = {RandomTokens(20, 1), RandomTokens(30, 2)}}},
                                .warm_up = RandomTokens(5, 4),
                                .generate_tokens = 40};
    const LeverFindings findings = Must(MeasureLever(models->engines(), asked));
    EXPECT_EQ(findings.difference, "");
    EXPECT_EQ(findings.streams, ring_share > 0);
    ASSERT_EQ(findings.predictors.size(), 2u);
    EXPECT_EQ(findings.predictors[0].kind, "vocabulary");
    EXPECT_EQ(findings.predictors[0].layer, 1);
    EXPECT_EQ(findings.predictors[1].kind, "width");
    EXPECT_EQ(findings.predictors[1].layer, 3);
    EXPECT_GT(models->memory().predictors, 0);
    ASSERT_EQ(findings.systems.size(), 7u);
    EXPECT_EQ(findings.totals[0][0][0].pruned.passes, 0) << "lever prunes nothing";
    int64_t dropped = 0;
    for (size_t system = 1; system < 7; ++system) {
      const LeverTotals& totals = findings.totals[system][0][0];
      EXPECT_EQ(totals.tokens, 2 * 39);
      EXPECT_GE(totals.RowsBelow(), totals.RowsPerPass());
      dropped += totals.pruned.dropped;
      const LeverPruningFigures figures = PruningFiguresOf(findings, system, 0);
      EXPECT_GT(*figures.kept, 0);
      EXPECT_GT(*figures.pass_time, 0);
    }
    EXPECT_GT(dropped, 0);
    EXPECT_EQ(absl::StrContains(LeverText(findings, {}), "all weights are in memory: no pass reads"), ring_share == 0);
  }
}

// Lever and a pruned variant: 100 tokens in 20 passes of 24 rows, and 95 in 20 of 24, of which 12 went.
LeverFindings SomeFindings() {
  LeverFindings findings = {.systems = SpecsOf("lever,lever_pruned", "exit.safetensors", "threshold=0.1"),
                            .sets = {{.name = "gsm8k", .prompts = {{1}}}}};
  findings.predictors = {{.path = "exit.safetensors", .kind = "vocabulary", .layer = 17}};
  findings.totals = {{{{.tokens = 100, .passes = 20, .rows = 480, .seconds = 11, .draft_seconds = 1}}},
                     {{{.tokens = 95, .passes = 20, .rows = 240, .pruned = {.passes = 16, .dropped = 240, .lost = 1}, .seconds = 10,
                        .draft_seconds = 1.2}}}};
  findings.tables.resize(2);
  return findings;
}

TEST(LeverPruning, FiguresAreHeldAgainstLever) {
  const LeverFindings findings = SomeFindings();
  const LeverPruningFigures figures = PruningFiguresOf(findings, 1, 0);
  EXPECT_NEAR(figures.passes_share, 0.8, 1e-9);
  EXPECT_NEAR(figures.totals.RowsBelow(), 24, 1e-9);
  EXPECT_NEAR(figures.totals.RowsPerPass(), 12, 1e-9);
  EXPECT_NEAR(figures.totals.PrunedShare(), 0.5, 1e-9);
  EXPECT_NEAR(*figures.kept, 0.95, 1e-9);
  EXPECT_NEAR(*figures.pass_time, 0.88, 1e-9);
  EXPECT_FALSE(PruningFiguresOf(findings, 1, std::nullopt).kept.has_value());
  const std::string text = LeverText(findings, {});
  for (const char* part : {"lever_pruned:threshold=0.1", "vocabulary", "17", "80.0 %", "24.0", "12.0", "50.0 %", "5.0 %", "95.0 %",
                           "88.0 %"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
  JsonWriter json;
  WriteLever(json, findings, {});
  const JsonValue systems = *Json(json.text()).Array("systems");
  EXPECT_TRUE(systems[0].Value("pruning")->is_null());
  EXPECT_NEAR(*systems[1].Object("pruning")->Double("kept"), 0.95, 1e-6);
  EXPECT_EQ(*systems[1].Object("pruning")->Int("layer"), 17);
}

TEST_F(LeverPruningRuns, TheProgramHasARowForEachPredictorAndRule) {
  const Ended ended = Run({"--systems=lever,lever_pruned", absl::StrCat("--prune=", rows_, ";", map_),
                           "--prune_sweep=always,threshold=0.2;always,threshold=0.7", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue lever = *Json(ended.output).Object("lever"), systems = *lever.Array("systems");
  EXPECT_FALSE(*lever.Bool("streams"));
  ASSERT_EQ(systems.size(), 5);
  for (int64_t i = 1; i < 5; ++i) {
    const JsonValue pruning = *systems[i].Object("pruning");
    EXPECT_EQ(*pruning.String("predictor"), i < 3 ? rows_ : map_);
    EXPECT_EQ(*pruning.Int("layer"), i < 3 ? 1 : 3);
    EXPECT_GT(*pruning.Double("kept"), 0);
  }
}

TEST_F(LeverPruningRuns, TheProgramRefusesFlagsThatCannotBeMeasured) {
  const std::string both = absl::StrCat("--prune=", rows_, ";", map_);
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"--systems=lever", "--prune=" + rows_}, "--prune: found it with systems that do not prune"},
      {{"--systems=lever,lever_pruned"}, "--systems: found lever_pruned without --prune"},
      {{"--systems=lever", "--prune_sweep=tau=2"}, "--prune_sweep: found without --prune"},
      {{"--systems=lever_pruned", "--prune=" + rows_, "--prune_sweep=tau=0"}, "--prune_sweep: pruning: found tau=0"},
      {{"--systems=lever_pruned", "--prune=/nowhere/exit"}, "--prune: /nowhere/exit: "},
      {{"--systems=lever_pruned", "--prune=" + packed_.gguf()}, "--prune: " + packed_.gguf() + ": "},
      {{"--prune=" + rows_, "--memory_grid=0.5"}, "--memory_grid: found beside --prune"},
      {{"--systems=lever,lever_pruned", both, "--reliability", "--plot=" + map_}, "--plot: " + map_ + ": found the file of --prune"},
      {{"--draft_model=self:layers=2"}, "--draft_model: found self:layers=2, expected a model's file, or a copy"},
      {{"--draft_model=" + rows_}, "--draft_model: found " + rows_ + ", expected a model's file"},
      {{"--model=" + packed_.path()}, "--draft_model: found self:q4 of " + packed_.path() + ", which is packed"},
      {{"--ring_share=0.5"}, "--model: found " + packed_.gguf() + ", expected a packed model"},
  };
  for (const auto& [more, message] : wrong) {
    const Ended refused = Run(more);
    EXPECT_EQ(refused.code, 2) << message << refused.errors;
    EXPECT_TRUE(absl::StrContains(refused.errors, message)) << message << "\n" << refused.errors;
  }
}

}  // namespace
}  // namespace tessera
