// tessera_lever on small models: all systems write one text, figures add up, and what cannot be measured is named.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/models/random_model.h"
#include "tessera/apps/lab/lever/lever_grid.h"
#include "tessera/apps/lab/lever/lever_models.h"
#include "tessera/apps/lab/lever/lever_prompts.h"
#include "tessera/apps/lab/lever/lever_report.h"
#include "tessera/apps/lab/lever/lever_run.h"
#include "tessera/apps/lab/lever/lever_systems.h"
#include "tessera/base/json.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/draft/model_expander.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

const std::string& DataFolder() {
  static const std::string folder = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  return folder;
}

std::vector<std::string> Variants(const std::vector<LeverSpec>& specs) {
  std::vector<std::string> variants;
  for (const LeverSpec& spec : specs) variants.push_back(spec.variant);
  return variants;
}

TEST(LeverSpecs, AreAllSystemsOrTheNamedSystems) {
  EXPECT_EQ(Variants(Must(LeverSpecs("all", ""))),
            (std::vector<std::string>{"flash_ar", "chain", "edgellm", "specinfer", "opt_tree", "sequoia", "eagle2", "lever", "retrieval",
                                      "lever_retrieval", "pinned", "pinned_retrieval", "auto"}));
  const std::vector<LeverSpec> some = Must(LeverSpecs("retrieval,lever,flash_ar", ""));
  EXPECT_EQ(Variants(some), (std::vector<std::string>{"retrieval", "lever", "flash_ar"}));
  EXPECT_TRUE(some[0].retrieval && some[0].tree.empty());
  EXPECT_EQ(some[1].tree, "lever");
  EXPECT_FALSE(some[2].drafts());
}

TEST(LeverSpecs, AutoIsWithTheDraftOrWithMorePins) {
  std::vector<LeverSpec> specs = Must(LeverSpecs("lever,auto,pinned", ""));
  ResolveAuto(/*drafts=*/true, specs);
  EXPECT_EQ(specs[1].tree, "lever");
  EXPECT_TRUE(specs[1].retrieval && !specs[1].pins_draft);
  ResolveAuto(/*drafts=*/false, specs);
  EXPECT_EQ(specs[1].tree, "");
  EXPECT_TRUE(specs[1].retrieval && specs[1].pins_draft);
  EXPECT_EQ(specs[0].tree, "lever") << "others stay";
}

TEST(LeverSpecs, SweptTreesStandInPlaceOfTheSystem) {
  const std::vector<LeverSpec> specs =
      Must(LeverSpecs("flash_ar,edgellm,chain", "edgellm:threshold=0.2;chain:tokens=4;edgellm:threshold=0.05"));
  EXPECT_EQ(Variants(specs),
            (std::vector<std::string>{"flash_ar", "edgellm:threshold=0.2", "edgellm:threshold=0.05", "chain:tokens=4"}));
  EXPECT_EQ(specs[1].system, "edgellm");
  EXPECT_EQ(specs[1].tree, "edgellm:threshold=0.2");
}

TEST(LeverSpecs, UnknownOrRepeatedSystemsAndSweepsAreNamed) {
  const auto refusal = [](const char* systems, const char* sweep) { return std::string(LeverSpecs(systems, sweep).status().message()); };
  EXPECT_TRUE(absl::StrContains(refusal("lever,guess", ""), "systems: found \"guess\", expected some of flash_ar, chain, "));
  EXPECT_TRUE(absl::StrContains(refusal("lever,lever", ""), "systems: found \"lever\" twice"));
  EXPECT_TRUE(absl::StrContains(refusal("lever", "edgellm:threshold=0.1"), "sweep: found \"edgellm:threshold=0.1\""));
  EXPECT_TRUE(absl::StrContains(refusal("edgellm", "edgellm:width=1"), "sweep: "));
  EXPECT_TRUE(absl::StrContains(refusal("chain", "chain:tokens=4;chain:tokens=4"), "twice"));
}

TEST(LeverPrompts, AreOfFourSetsInTheirOwnForms) {
  const std::vector<PromptCategory> all = Must(ReadLeverPrompts(DataFolder(), "all", 2));
  ASSERT_EQ(all.size(), 4u);
  const char* names[] = {"gsm8k", "humaneval", "mbpp", "mt_bench"};
  for (size_t set = 0; set < all.size(); ++set) {
    EXPECT_EQ(all[set].name, names[set]);
    EXPECT_EQ(all[set].prompts.size(), 2u) << names[set];
  }
  EXPECT_TRUE(absl::StrContains(all[1].prompts[0], "Complete this function:\n\nfrom typing import List"));
  EXPECT_TRUE(absl::StrContains(all[2].prompts[0], "Your code should pass these tests:\n\nassert min_cost("));
  EXPECT_EQ(all[3].prompts[0].rfind("Compose an engaging travel blog post", 0), 0u);
  EXPECT_EQ(Must(ReadLeverPrompts(DataFolder(), "mbpp,gsm8k", 1))[1].prompts.size(), 1u);
  EXPECT_TRUE(absl::StrContains(ReadLeverPrompts(DataFolder(), "mbpp,code", 1).status().message(), "categories: found \"code\", expected"));
  EXPECT_TRUE(absl::StrContains(ReadLeverPrompts("/nowhere", "mbpp", 1).status().message(), "/nowhere/mbpp.jsonl"));
}

// A model of other tokens.
void WriteStranger(const std::string& path) {
  ThreadPool pool(1);
  Must(RandomModel({.shape = Must(RandomShapeByName("tiny"))}).Write(path, pool));
}

// A target whose texts do not end, and the same model as its draft: every guess comes true.
class LeverRuns : public testing::Test {
 protected:
  LeverModels::Options Options(const std::string& path, double ring_share) const {
    return {.target = {.model_path = path, .compute = {.threads = 2}, .cache = {.context = 256}},
            .draft_model = packed_.gguf(),
            .ring_share = ring_share,
            .pins_draft = ring_share > 0,
            .pins_retrieve = ring_share > 0};
  }
  LeverOptions Asked(const std::string& systems) const {
    return {.systems = Must(LeverSpecs(systems, "")),
            .sets = {{.name = "first", .prompts = {RandomTokens(20, 1), RandomTokens(30, 2)}},
                     {.name = "second", .prompts = {RandomTokens(9, 3)}}},
            .warm_up = RandomTokens(5, 4),
            .generate_tokens = 24,
            .repetitions = 2};
  }

  const PackedModel packed_{TinyModelBuilder({.layers = 2, .context = 512, .writes_letters = true})};
};

TEST_F(LeverRuns, AllSystemsWriteTheSameTextsStreamedOrNot) {
  for (const double ring_share : {0.0, 0.125}) {
    SCOPED_TRACE(ring_share);
    const auto models = Must(LeverModels::Load(Options(ring_share > 0 ? packed_.path() : packed_.gguf(), ring_share)));
    const LeverOptions asked = Asked(ring_share > 0 ? "all" : "flash_ar,chain,edgellm,specinfer,opt_tree,sequoia,eagle2,lever,retrieval,"
                                                               "lever_retrieval");
    const LeverFindings findings = Must(MeasureLever(models->engines(), asked));
    EXPECT_EQ(findings.difference, "");
    EXPECT_EQ(findings.streams, ring_share > 0);
    for (size_t system = 0; system < asked.systems.size(); ++system) {
      for (size_t set = 0; set < 2; ++set) {
        for (const LeverTotals& totals : findings.totals[system][set]) {
          const LeverSpec& spec = asked.systems[system];
          EXPECT_EQ(totals.tokens, set == 0 ? 46 : 23) << spec.variant << ": without the first token of each text";
          EXPECT_GT(totals.seconds, 0);
          EXPECT_GE(totals.rows, totals.passes);
          if (!spec.drafts()) {
            EXPECT_EQ(totals.passes, totals.tokens) << spec.variant;
          }
          if (spec.system == "chain") {
            EXPECT_LT(totals.passes, totals.tokens / 3) << "all guesses come true";
            EXPECT_GT(findings.tables[system].count(), 0);
          }
          if (spec.tree.empty()) {
            EXPECT_EQ(findings.tables[system].count(), 0) << spec.variant;
          }
        }
      }
    }
    const LeverMemory memory = models->memory();
    EXPECT_GT(memory.draft, 0);
    EXPECT_EQ(memory.ring > 0, ring_share > 0);
    EXPECT_EQ(memory.pins, 0) << "a ring alone, or no streaming";
    EXPECT_EQ(memory.pins_instead > 0, ring_share > 0);
  }
}

TEST_F(LeverRuns, ATextThatDiffersIsNamedWithItsPlace) {
  const auto models = Must(LeverModels::Load(Options(packed_.gguf(), 0)));
  const auto other = TinyEngine({.layers = 2, .writes_letters = true, .seed = 9}, {.compute = {.threads = 1}, .cache = {.context = 256}});
  LeverEngines engines = models->engines();
  engines.pinned = other.get();
  const LeverFindings findings = Must(MeasureLever(engines, Asked("flash_ar,pinned")));
  EXPECT_TRUE(absl::StrContains(findings.difference, "first, text 1, by pinned: found token ")) << findings.difference;
  EXPECT_TRUE(absl::StrContains(findings.difference, ", as in the text that was written first")) << findings.difference;
}

TEST(LeverSystems, EachReadsAPromptIntoTheDraftAnew) {
  const TinyModel model = {.layers = 1, .writes_letters = true};
  const auto target = TinyEngine(model, {.compute = {.threads = 1}, .cache = {.context = 256}});
  const std::shared_ptr<Engine> draft = TinyEngine(model, {.compute = {.threads = 1}, .cache = {.context = 256, .cache_tokens = 512}});
  const auto expander = Must(ModelExpander::Create(draft, {}));
  const auto session = Must(target->NewSession());
  const Sampler sampler = Must(Sampler::Create({.temperature = 0}));
  const std::vector<TokenId> prompt = RandomTokens(40, 1);
  std::vector<int64_t> rows;   // That the draft computed for the same text.
  for (int i = 0; i < 3; ++i) {
    const auto system = Must(LeverSystem::Create(Must(LeverSpecs("chain", ""))[0], *target, expander.get()));
    const int64_t before = draft->stats().rows;
    session->Truncate(0);
    Must(session->Append(prompt));
    Must(Generate(*session, sampler, {.max_tokens = 20, .speculator = system->speculator()}));
    rows.push_back(draft->stats().rows - before);
  }
  EXPECT_GE(rows[0], 40);
  EXPECT_EQ(rows, std::vector<int64_t>(3, rows[0]));
}

TEST_F(LeverRuns, ADraftWithOtherTokensIsRefused) {
  const TemporaryFolder folder;
  LeverModels::Options options = Options(packed_.gguf(), 0);
  options.draft_model = folder.Path("stranger.gguf");
  WriteStranger(options.draft_model);
  const absl::Status status = LeverModels::Load(options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "draft_model: ")) << status;
}

// Two sets, two repetitions; of edgellm two variants, of which the second is faster.
LeverFindings SomeFindings() {
  LeverFindings findings = {.systems = Must(LeverSpecs("flash_ar,edgellm,lever", "edgellm:threshold=0.2;edgellm:threshold=0.05")),
                            .sets = {{.name = "gsm8k", .prompts = {{1}}}, {.name = "mbpp", .prompts = {{2}}, .left_out = 3}}};
  findings.streams = true;
  findings.tables.resize(4);
  findings.tables[3].Add(0.75, true);
  findings.tables[3].Add(0.75, false);
  const auto took = [](double seconds) {
    return LeverTotals{.tokens = 100, .passes = 40, .rows = 160, .seconds = seconds, .draft_seconds = seconds / 10,
                       .stall_seconds = seconds / 2};
  };
  for (const double seconds : {100.0, 60.0, 50.0, 25.0}) {
    findings.totals.push_back({{took(seconds), took(seconds)}, {took(seconds / 4), took(seconds / 4)}});
  }
  findings.memory = {.draft = 100 << 20, .weights = 2000 << 20, .ring = 250 << 20, .pins_instead = 100 << 20};
  return findings;
}

TEST(LeverReport, ShowsTheBestOfEachSystemWithRatiosAndGeometricMeans) {
  const LeverFindings findings = SomeFindings();
  EXPECT_EQ(BestVariants(findings), (std::vector<size_t>{0, 2, 3}));
  const LeverFigures all = FiguresOverSets(findings, 2);
  EXPECT_NEAR(all.tokens_per_second, 4, 1e-9) << "of 2 and 8";
  EXPECT_NEAR(*all.of_flash_ar, 2, 1e-9);
  EXPECT_NEAR(*all.lever_over, 2, 1e-9);
  EXPECT_NEAR(*FiguresOf(findings, 3, 0).of_flash_ar, 4, 1e-9);
  const std::string text = LeverText(findings, {.reliability = true});
  for (const char* part : {"edgellm:threshold=0.05", "2.50", "4.0", "10.0 %", "50.0 %", "geometric mean", "shown above", "12.5 %",
                           "mbpp: 3 of 4 prompts are too long for the context", "0.75 to 0.80",
                           "apart by 0.250 on average, over 2 guesses"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
}

TEST(LeverReport, AnUnmeasuredFigureIsNull) {
  LeverFindings findings = SomeFindings();
  findings.systems = Must(LeverSpecs("chain,edgellm,retrieval,lever_retrieval", ""));
  findings.streams = false;
  JsonWriter json;
  WriteLever(json, findings, {});
  const JsonValue lever = Json(json.text());
  const JsonValue systems = *lever.Array("systems");
  ASSERT_EQ(systems.size(), 4);
  EXPECT_EQ(*systems[0].String("system"), "chain");
  EXPECT_EQ(*(*systems[0].Array("sets"))[1].Double("tokens_per_second"), 4);
  EXPECT_TRUE(absl::StrContains(json.text(), "\"reading_share\":null,\"of_flash_ar\":null,\"lever_over\":null")) << json.text();
  EXPECT_FALSE(lever.Has("reliability"));
}

TEST(LeverReport, ThePictureHasBothCurves) {
  const std::string svg = ReliabilitySvg(SomeFindings());
  EXPECT_TRUE(absl::StrContains(svg, "guesses") && absl::StrContains(svg, "as expected")) << svg;
}

// One set, one repetition: what two fixed ways and auto took for 100 tokens.
LeverFindings GridFindings(double pinned, double lever, double automatic) {
  LeverFindings findings = {.systems = Must(LeverSpecs("pinned_retrieval,lever,auto", "")), .sets = {{.name = "gsm8k", .prompts = {{1}}}}};
  for (const double seconds : {pinned, lever, automatic}) findings.totals.push_back({{{.tokens = 100, .passes = 40, .seconds = seconds}}});
  findings.tables.resize(3);
  findings.memory = {.weights = 2000 << 20, .pins = 100 << 20, .pins_instead = 250 << 20, .budget = 1000 << 20};
  findings.auto_is = "lever_retrieval";
  return findings;
}

TEST(LeverGrid, ComparesAutoWithTheBestOfTheOthers) {
  EXPECT_NEAR(*AutoOfBest(GridFindings(40, 20, 25)), 0.8, 1e-9);
  EXPECT_NEAR(*AutoOfBest(GridFindings(10, 20, 9)), 10.0 / 9, 1e-9);
  LeverFindings alone = GridFindings(1, 1, 1);
  alone.systems[2].chooses = false;
  EXPECT_FALSE(AutoOfBest(alone).has_value()) << "auto was not measured";
  const std::vector<LeverGridPoint> points = {{.share = 0.25, .findings = GridFindings(40, 20, 20)},
                                              {.share = 0.8, .findings = GridFindings(40, 20, 25)}};
  const std::string text = LeverGridText(points);
  for (const char* part : {"0.25", "1000 MiB", "250 MiB", "lever_retrieval", "1.000", "auto is at least 0.800 of the best (asked: 0.95"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
  JsonWriter json;
  WriteLeverGrid(json, points);
  const JsonValue grid = Json(json.text());
  ASSERT_EQ(grid.size(), 2);
  EXPECT_NEAR(*grid[1].Double("auto_of_best"), 0.8, 1e-6);
  EXPECT_EQ(*grid[1].Object("lever")->Object("auto")->String("is"), "lever_retrieval");
}

class BenchLever : public testing::Test {
 protected:
  Ended Run(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"--model=" + packed_.path(), "--draft_model=" + packed_.gguf(), "--threads=1", "--data=" + DataFolder(),
                                 "--texts=1", "--generate_tokens=6", "--context=2000"});
    return RunProgram("tessera_lever", flags);
  }

  const PackedModel packed_{TinyModelBuilder({.layers = 2, .context = 2048, .writes_letters = true})};
};

TEST_F(BenchLever, WritesFiguresOfEachSystemAndSet) {
  const Ended ended = Run({"--ring_share=0.125", "--categories=gsm8k,mt_bench", "--systems=flash_ar,chain,lever,pinned", "--json",
                           "--sweep=chain:tokens=2;chain:tokens=4", "--reliability"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue lever = *Json(ended.output).Object("lever"), systems = *lever.Array("systems");
  ASSERT_EQ(systems.size(), 5);
  int shown = 0;
  for (int64_t i = 0; i < systems.size(); ++i) {
    shown += *systems[i].Bool("shown") ? 1 : 0;
    const JsonValue sets = *systems[i].Array("sets");
    ASSERT_EQ(sets.size(), 2);
    EXPECT_EQ(*sets[0].String("set"), "gsm8k");
    EXPECT_EQ(*sets[0].Int("tokens"), 5);
    for (const char* name : {"tokens_per_second", "tokens_per_pass", "rows_per_pass", "of_flash_ar", "lever_over"}) {
      EXPECT_GT(*sets[1].Double(name), 0) << name;
    }
  }
  EXPECT_EQ(shown, 4);
  EXPECT_GT(*lever.Object("memory_bytes")->Int("ring"), 0);
  EXPECT_TRUE(lever.Has("reliability"));
}

TEST_F(BenchLever, ComparesAutoUnderEachBudgetOfAGrid) {
  const Ended ended = Run({"--memory_grid=0.3,0.9", "--categories=gsm8k", "--flash=ufs4.0", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue grid = *Json(ended.output).Array("grid");
  ASSERT_EQ(grid.size(), 2);
  for (int64_t i = 0; i < grid.size(); ++i) {
    EXPECT_GT(*grid[i].Double("auto_of_best"), 0);
    EXPECT_GT(*grid[i].Int("memory_budget"), 0);
    const JsonValue lever = *grid[i].Object("lever"), chosen = *lever.Object("auto");
    EXPECT_EQ(lever.Array("systems")->size(), 5);
    EXPECT_GT(*chosen.Object("predicted")->Double("both"), 0);
    const double more = *chosen.Object("predicted")->Double("both") - *chosen.Object("predicted")->Double("retrieval");
    if (more != 0) EXPECT_EQ(*chosen.String("is"), more > 0 ? "lever_retrieval" : "pinned_retrieval");
  }
}

TEST_F(BenchLever, RefusesFlagsThatCannotBeMeasured) {
  const TemporaryFolder folder;
  const std::string stranger = folder.Path("stranger.gguf");
  WriteStranger(stranger);
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--ring_share=0"}, "--ring_share: found 0, expected above 0 and at most 1"},
      {{"--ring_share=nan"}, "--ring_share: found "},
      {{"--ring_share=0.5", "--memory_budget=1GiB"}, "--ring_share: found beside --memory_budget"},
      {{"--ring_share=0.5", "--pin=spread"}, "--pin: found it with --ring_share"},
      {{"--systems=guess"}, "--systems: found \"guess\""},
      {{"--systems=flash_ar,pinned"}, "--systems: found pinned without --memory_budget or --ring_share"},
      {{"--systems=flash_ar,retrieval"}, "--draft_model: found it with --systems=flash_ar,retrieval"},
      {{"--draft_model=self:q3"}, "--draft_model: found self:q3 of "},
      {{"--systems=flash_ar,auto"}, "--systems: found auto without --memory_budget or --ring_share"},
      {{"--memory_grid=0.5,0.2"}, "--memory_grid: found \"0.2\", expected shares above 0"},
      {{"--memory_grid=nan"}, "--memory_grid: found \"nan\""},
      {{"--memory_grid=0.5", "--memory_budget=1GiB"}, "--memory_grid: found beside --memory_budget"},
      {{"--memory_grid=0.5", "--reliability"}, "--memory_grid: found beside --reliability"},
      {{"--memory_grid=0.5", "--systems=lever"}, "--systems: found lever with --memory_grid, expected auto and others"},
      {{"--systems=chain", "--sweep=chain:words=2"}, "--sweep: "},
      {{"--systems=chain", "--reliability"}, "--reliability: found it with --systems=chain"},
      {{"--plot=x.svg"}, "--plot: found it without --reliability"},
      {{"--categories=code"}, "--categories: found \"code\""},
      {{"--data=/nowhere"}, "--data: /nowhere/gsm8k_test.jsonl"},
      {{"--categories=gsm8k", "--context=80"}, "--context: found 80 tokens, expected more: no prompt of gsm8k"},
      {{"--draft_model=" + stranger, "--systems=flash_ar,lever"}, "--draft_model: "},
  };
  for (const auto& [flags, message] : cases) {
    const Ended ended = Run(flags);
    EXPECT_EQ(ended.code, 2) << message << ended.errors;
    EXPECT_EQ(ended.output, "") << message;
    EXPECT_TRUE(absl::StrContains(ended.errors, message)) << message << "\n" << ended.errors;
  }
  const Ended none = RunProgram("tessera_lever", {"--model=" + packed_.path(), "--systems=flash_ar,lever"});
  EXPECT_TRUE(absl::StrContains(none.errors, "--draft_model: found none")) << none.errors;
}

}  // namespace
}  // namespace tessera
