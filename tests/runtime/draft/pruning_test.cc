// Drafts that are pruned half-way through the layers: the text has the same bits, whatever the predictor says, and the rows are gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/random_program.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/stream_program.h"
#include "tessera/tests/fakes/switching_phone.h"
#include "tessera/tests/fakes/table_expander.h"
#include "tessera/tests/fakes/timeline_events.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

const SamplingOptions kGreedy = {.temperature = 0};
const SamplingOptions kSampled = {.temperature = 0.8f, .top_k = 40, .seed = 7};

// The file is gone again when this returns.
ExitPredictor PredictorFor(Engine& engine, const PredictorFile& file) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("exit.safetensors");
  WritePredictor(path, file);
  const LoadedModel& model = CoreOf(engine).model();
  return Must(ExitPredictor::Load(path, model.config(), model.layout(), model.weights()));
}
ExitPredictor PredictorFor(Engine& engine, const std::string& kind, int layer, uint64_t seed = 1) {
  return PredictorFor(engine, RandomPredictor(engine.config(), kind, layer, seed));
}

TinyModel ModelOf(const std::string& architecture) {
  const bool gemma = architecture == "gemma3";
  return {.architecture = architecture, .layers = gemma ? 7 : 4, .window = gemma ? 16 : 0, .tied = gemma, .writes_letters = !gemma};
}

EngineOptions Options(int threads = 1) {
  return {.compute = {.threads = threads, .row_capacity = 32}, .cache = {.context = 128}};
}

// After a text that begins like `whole` its next token with probability 1/2, and five others.
DraftDistribution NearlyRight(std::vector<TokenId> whole) {
  return [whole = std::move(whole)](absl::Span<const TokenId> text) {
    const bool begins = text.size() < whole.size() && std::equal(text.begin(), text.end(), whole.begin());
    TopTokens said;
    if (begins) said.push_back({whole[text.size()], 0.5f});
    for (TokenId token = 'a'; said.size() < 6; token += 3) {
      if (said.empty() || said[0].token != token) said.push_back({token, 0.09f});
    }
    return said;
  };
}

std::unique_ptr<Drafter> NearlyRightDraft(const std::vector<TokenId>& whole, const std::string& tree = "specinfer:widths=3x2x2x1") {
  const ExpandingDrafter::Options options = {.candidates = 6};
  return std::make_unique<ExpandingDrafter>(std::make_unique<TableExpander>(NearlyRight(whole)), Must(MakeTreePolicy(tree, {})), options);
}

struct Pruned {
  Generation written;
  int64_t drafted_rows = 0;   // In trees.
  int64_t engine_rows = 0;    // That came to the end of a pass.
};

// A text of 40 tokens after `prompt`, drafted nearly right.
Pruned WritePruned(Engine& engine, const std::vector<TokenId>& prompt, const std::vector<TokenId>& whole, const Pruning& prune) {
  const auto session = Must(engine.NewSession());
  Must(session->Append(prompt));
  Speculator speculator(NearlyRightDraft(whole), {.weigh_costs = false});
  const int64_t before = engine.stats().rows;
  Pruned pruned;
  pruned.written = Must(Generate(*session, Must(Sampler::Create(kGreedy)), {.max_tokens = 40, .speculator = &speculator, .prune = prune}));
  pruned.drafted_rows = speculator.report().rows;
  pruned.engine_rows = engine.stats().rows - before;
  return pruned;
}

class PruningTest : public testing::Test {
 protected:
  PruningTest() {
    const auto session = Must(engine_->NewSession());
    Must(session->Append(prompt_));
    plain_ = Must(Generate(*session, Must(Sampler::Create(kGreedy)), {.max_tokens = 40})).tokens;
    whole_ = prompt_;
    whole_.insert(whole_.end(), plain_.begin(), plain_.end());
  }
  Pruned Write(const ExitPredictor& predictor, const PruneOptions& rule) {
    Pruned pruned = WritePruned(*engine_, prompt_, whole_, {.predictor = &predictor, .rule = rule, .weigh_costs = false});
    EXPECT_EQ(pruned.written.tokens, plain_);
    EXPECT_EQ(pruned.engine_rows, pruned.written.rows);
    EXPECT_EQ(pruned.drafted_rows - pruned.written.rows, pruned.written.pruned.dropped);
    return pruned;
  }
  std::string Refusal(const GenerateOptions& options) {
    const auto session = Must(engine_->NewSession());
    Must(session->Append(prompt_));
    const absl::Status status = Generate(*session, Must(Sampler::Create(kGreedy)), options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  const std::unique_ptr<Engine> engine_ = TinyEngine(ModelOf("llama"), Options(2));
  const std::vector<TokenId> prompt_ = RandomTokens(12, 4);
  std::vector<TokenId> plain_, whole_;
};

TEST_F(PruningTest, PrunedRowsLeaveThePass) {
  for (const char* kind : {"vocabulary", "width"}) {
    const ExitPredictor predictor = PredictorFor(*engine_, kind, 2);
    const Pruned pruned = Write(predictor, {.threshold = 0.3f});
    EXPECT_GT(pruned.written.pruned.dropped, pruned.drafted_rows / 10) << kind;
    EXPECT_GT(pruned.written.pruned.passes, 0);
    EXPECT_GE(pruned.written.pruned.seconds, 0);
    EXPECT_EQ(Write(predictor, {.threshold = 0}).written.pruned.dropped, 0);
  }
}

// Where only the root goes on, each pass gives one token, and has one row above the layer.
TEST_F(PruningTest, AllButTheRootMayGo) {
  const ExitPredictor predictor = PredictorFor(*engine_, "vocabulary", 1);
  const Pruned pruned = Write(predictor, {.threshold = 2, .with_safeguards = false});
  EXPECT_EQ(pruned.written.passes, 39);
  EXPECT_EQ(pruned.written.rows, 39);
  EXPECT_GT(pruned.drafted_rows, 200);
  // The draft was right all the time, but for the last tokens, for which there is no room.
  EXPECT_GT(pruned.written.pruned.lost, 30);
  EXPECT_EQ(Write(predictor, {.threshold = 0}).written.pruned.lost, 0);
}

// The draft is right all the time, but what would have come after the stop string is no loss.
TEST_F(PruningTest, NothingIsLostWhereTheTextEnds) {
  const ExitPredictor predictor = PredictorFor(*engine_, "vocabulary", 1);
  const Pruning prune = {.predictor = &predictor, .rule = {.threshold = 2, .with_safeguards = false}, .weigh_costs = false};
  const auto session = Must(engine_->NewSession());
  Must(session->Append(prompt_));
  const std::string text = Must(Generate(*session, Must(Sampler::Create(kGreedy)), {.max_tokens = 20})).text;
  session->Truncate(static_cast<int>(prompt_.size()) - 1);
  Must(session->Append({prompt_.back()}));
  ASSERT_GT(text.size(), 4u);
  Speculator speculator(NearlyRightDraft(whole_), {.weigh_costs = false});
  const Generation written = Must(Generate(*session, Must(Sampler::Create(kGreedy)),
                                           {.max_tokens = 40, .stop = {text.substr(text.size() - 4)}, .speculator = &speculator,
                                            .prune = prune}));
  EXPECT_EQ(written.reason, FinishReason::kStopString);
  EXPECT_GT(written.passes, 3);
  EXPECT_EQ(written.pruned.lost, written.passes - 1);
}

// In a pass of two texts each is told of the rows that it has lost itself.
TEST_F(PruningTest, EachTextCountsItsOwnRows) {
  const ExitPredictor predictor = PredictorFor(*engine_, "vocabulary", 1);
  const Pruning prune = {.predictor = &predictor, .rule = {.threshold = 2, .with_safeguards = false}, .weigh_costs = false};
  Speculator speculators[] = {{NearlyRightDraft(whole_), {.weigh_costs = false}}, {NearlyRightDraft(whole_), {.weigh_costs = false}}};
  std::vector<Generation> ended(2);
  const auto stepper = Must(Stepper::Create(*engine_, {}));
  for (size_t i = 0; i < ended.size(); ++i) {
    stepper->Submit({.prompt = prompt_, .sampling = kGreedy,
                     .text = {.max_tokens = 20, .speculator = &speculators[i], .prune = prune},
                     .on_end = [&ended, i](const absl::StatusOr<Generation>& answer) { ended[i] = Must(answer); }});
  }
  Must(stepper->Run());
  EXPECT_EQ(stepper->report().most_texts, 2);
  for (size_t i = 0; i < ended.size(); ++i) {
    EXPECT_EQ(ended[i].tokens, std::vector<TokenId>(plain_.begin(), plain_.begin() + 20));
    EXPECT_GT(ended[i].pruned.dropped, 20) << i;
    EXPECT_EQ(ended[i].pruned.dropped, speculators[i].report().rows - ended[i].rows) << i;
  }
}

// Eight of nine rows go after the first of four layers: three rows are what a layer had on average.
TEST_F(PruningTest, CostsLearnTheRowsThatALayerHadOnAverage) {
  const ExitPredictor predictor = PredictorFor(*engine_, "vocabulary", 1);
  Speculator speculator(NearlyRightDraft(whole_), {.max_rows = 9, .weigh_costs = false});
  CostProfile costs;
  const auto stepper = Must(Stepper::Create(*engine_, {.costs = &costs}));
  stepper->Submit({.prompt = prompt_, .sampling = kGreedy,
                   .text = {.max_tokens = 20, .speculator = &speculator,
                            .prune = {.predictor = &predictor, .rule = {.threshold = 2, .with_safeguards = false}, .weigh_costs = false}}});
  Must(stepper->Run());
  EXPECT_GT(speculator.report().rows, 100);
  const std::string learnt = costs.ToJson();
  EXPECT_TRUE(absl::StrContains(learnt, "\"rows\": 3,")) << learnt;
  EXPECT_FALSE(absl::StrContains(learnt, "\"rows\": 9,")) << learnt;
}

TEST_F(PruningTest, TheAblationsChangeThePrunedRows) {
  const ExitPredictor predictor = PredictorFor(*engine_, "width", 2);
  const int64_t all = Write(predictor, {.threshold = 0.3f}).written.pruned.dropped;
  const int64_t no_shadow = Write(predictor, {.threshold = 0.3f, .with_shadow_tokens = false}).written.pruned.dropped;
  const int64_t no_safeguards = Write(predictor, {.threshold = 0.3f, .with_safeguards = false}).written.pruned.dropped;
  EXPECT_LT(no_shadow, all) << "an only child counts as sure";
  EXPECT_GT(no_safeguards, all);
}

TEST_F(PruningTest, ATraceHasThePredictorWithinItsPass) {
  Timeline timeline({});
  CoreOf(*engine_).SetTimeline(&timeline);
  const ExitPredictor predictor = PredictorFor(*engine_, "vocabulary", 2);
  const Pruned pruned = Write(predictor, {.threshold = 0.3f});
  CoreOf(*engine_).SetTimeline(nullptr);
  const std::vector<TimelineEvent> passes = OfZone(timeline.Events(), Zone::kPass);
  const std::vector<TimelineEvent> predictions = OfZone(timeline.Events(), Zone::kPredict);
  EXPECT_GT(pruned.written.pruned.passes, 0);
  EXPECT_GE(static_cast<int64_t>(predictions.size()), pruned.written.pruned.passes);
  for (const TimelineEvent& event : predictions) {
    EXPECT_GT(event.detail, 0) << "nodes";
    EXPECT_EQ(std::count_if(passes.begin(), passes.end(), [&](const TimelineEvent& pass) { return Within(event, pass); }), 1);
  }
  int64_t dropped = 0;
  const std::vector<TimelineEvent> prunings = OfZone(timeline.Events(), Zone::kPrune);
  for (const TimelineEvent& event : prunings) {
    dropped += event.detail;
    EXPECT_EQ(std::count_if(passes.begin(), passes.end(), [&](const TimelineEvent& pass) { return Within(event, pass); }), 1);
  }
  EXPECT_EQ(static_cast<int64_t>(prunings.size()), pruned.written.pruned.passes);
  EXPECT_EQ(dropped, pruned.written.pruned.dropped);
  for (const TimelineEvent& event : predictions) {
    EXPECT_TRUE(std::any_of(prunings.begin(), prunings.end(), [&](const TimelineEvent& pruning) { return Within(event, pruning); }));
  }
}

// By a profile in which rows cost nothing nothing is pruned; by one in which they cost all there is, it is.
TEST_F(PruningTest, CostsDecideUnlessToldOtherwise) {
  const ExitPredictor predictor = PredictorFor(*engine_, "vocabulary", 1);
  for (const double row_seconds : {0.0, 1.0}) {
    CostProfile costs;
    for (const int rows : {1, 1, 1, 32, 32, 32}) costs.AddPass({.rows = rows}, 10 + row_seconds * rows);
    for (const int rows : {1, 32}) costs.AddHead(rows, 1e-3);
    costs.Freeze();
    const auto session = Must(engine_->NewSession());
    Must(session->Append(prompt_));
    Speculator speculator(NearlyRightDraft(whole_), {.weigh_costs = false, .costs = &costs});
    const Pruning prune = {.predictor = &predictor, .rule = {.threshold = 0.3f}};
    const Generation written =
        Must(Generate(*session, Must(Sampler::Create(kGreedy)), {.max_tokens = 40, .speculator = &speculator, .prune = prune}));
    EXPECT_EQ(written.tokens, plain_);
    EXPECT_EQ(written.pruned.passes > 0, row_seconds > 0);
  }
}

TEST_F(PruningTest, ImpossiblePruningIsRefused) {
  const ExitPredictor predictor = PredictorFor(*engine_, "vocabulary", 1);
  const auto other = TinyEngine({.layers = 3}, Options()), twin = TinyEngine(ModelOf("llama"), Options());
  const ExitPredictor of_other = PredictorFor(*other, "vocabulary", 1), of_twin = PredictorFor(*twin, "width", 1);
  Speculator speculator(NearlyRightDraft(whole_), {.weigh_costs = false});
  const auto with = [&](const Pruning& prune) { return GenerateOptions{.max_tokens = 4, .speculator = &speculator, .prune = prune}; };
  EXPECT_EQ(Refusal({.max_tokens = 4, .prune = {.predictor = &predictor}}),
            "pruning: found no speculator, expected one, whose drafts are pruned");
  EXPECT_EQ(Refusal(with({.predictor = &of_other})), "layers of an exit predictor: found 3, expected 4");
  EXPECT_EQ(Refusal(with({.predictor = &of_twin})),
            "head of an exit predictor: found that of weights loaded elsewhere, expected this engine's");
  EXPECT_EQ(Refusal(with({.predictor = &predictor, .rule = {.temperature = 0}})),
            "temperature of pruning: found 0, expected a number above 0");
  const auto stream = Stream::Create(CoreOf(*engine_), {.prompt = {1}, .text = {.prune = {.predictor = &predictor}}});
  EXPECT_EQ(stream.status().message(), "pruning: found no speculator, expected one, whose drafts are pruned");
}

TEST(Pruning, GraphsThatAreSwitchedAndPruningAreRefusedTogether) {
  SwitchingPhone phone(SwitchRule::kPlanned);
  const ExitPredictor predictor = PredictorFor(*phone.engine, "vocabulary", 1);
  Speculator speculator(std::make_unique<ScriptedDrafter>(std::vector<TokenId>{1}), {.weigh_costs = false});
  const auto stream = Stream::Create(
      CoreOf(*phone.engine), {.prompt = {1}, .text = {.speculator = &speculator, .prune = {.predictor = &predictor}}});
  EXPECT_EQ(stream.status().message(), "pruning: found an engine that switches graphs, expected one with the graphs it began with");
}

PruneOptions AnyRule(SeededRandom& random) {
  const auto any = [&random](int count) { return static_cast<int>(random.Below(count)); };
  return {.threshold = random.Uniform(0, 1.2f),
          .temperature = random.Uniform(0.3f, 3),
          .with_shadow_tokens = any(2) == 0,
          .with_safeguards = any(2) == 0,
          .keep_ancestors = any(2) == 0,
          .keep_near_root = any(3),
          .least_rows_left = any(4),
          .least_leaves_left = any(2),
          .least_rows_dropped = any(3)};
}

// Random trees, thresholds and predictors; windows that slide, slots that are scattered, drafts that stay where they are.
TEST(Pruning, TextsHaveTheBitsOfPlainDecodingWhateverIsPruned) {
  SeededRandom random(11);
  int64_t drafted = 0, dropped = 0;
  for (const std::string architecture : kArchitectures) {
    const auto plain_engine = TinyEngine(ModelOf(architecture), Options());
    PromptWriter plain_writer(*plain_engine, RandomTokens(40, 12));
    for (const auto& [scatter, compact] : {std::pair{uint64_t{0}, true}, {uint64_t{3}, true}, {uint64_t{5}, false}}) {
      EngineOptions options = Options();
      options.hooks = Hooks({.scatter_seed = scatter, .compact_drafts = compact});
      const auto engine = TinyEngine(ModelOf(architecture), options);
      PromptWriter writer(*engine, RandomTokens(40, 12));
      const int layers = static_cast<int>(engine->config().layers.size());
      for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
        const WrittenText plain = plain_writer.Write(sampling, {}, nullptr);
        for (int round = 0; round < Fewer(8, 2); ++round) {
          const char* const kind = round % 2 == 0 ? "vocabulary" : "width";
          const int layer = 1 + static_cast<int>(random.Below(layers - 1));
          const ExitPredictor predictor = PredictorFor(*engine, kind, layer, random.Next());
          Speculator speculator(std::make_unique<RandomDrafter>(engine->config().vocabulary, random.Next(), plain.tokens),
                                {.max_rows = 20, .weigh_costs = false});
          const Pruning prune = {.predictor = &predictor, .rule = AnyRule(random), .weigh_costs = false};
          EXPECT_EQ(writer.WriteWith(sampling, {.prune = prune}, &speculator), plain) << architecture << ", round " << round;
          drafted += writer.drafted();
          dropped += speculator.report().rows - writer.rows();
        }
      }
    }
  }
  EXPECT_GT(drafted, Fewer(1000, 200));
  EXPECT_GT(dropped, Fewer(1000, 100));
}

// Many texts in a pass, each with a predictor after another layer or none, with adapters of their own.
TEST(Pruning, RandomProgramsOfManyTexts) {
  for (const char* architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    EngineOptions options = Options();
    const TemporaryFolder folder;
    options.model_path = folder.Path("tiny.gguf");
    TinyModelBuilder(ModelOf(architecture)).WriteTo(options.model_path);
    const auto engine = Must(Engine::Load(options));
    LoneWriter alone(options);
    const LoraAdapter adapter = RandomAdapter(engine->config(), /*rank=*/2, kAllTargets, /*seed=*/1);
    const ExitPredictor early = PredictorFor(*engine, "vocabulary", 1), late = PredictorFor(*engine, "width", 3),
                        also_late = PredictorFor(*engine, "vocabulary", 3, 2);
    StreamProgram program(*engine, alone, {.seed = TestSeed(), .steps = Fewer(1200, 60), .adapters = {nullptr, &adapter, nullptr},
                                           .predictors = {&early, &late, &also_late}, .session_every = 40});
    EXPECT_EQ(program.Run(), "");
    if (!kSanitized) EXPECT_GT(program.counts().pruned, 25);
  }
}

// A read that breaks, of a layer or of the head's rows for a predictor, ends the answer; the session holds what was text before.
TEST(Pruning, AReadErrorLosesNoToken) {
  const PackedModel packed(TinyModelBuilder({.layers = 8, .writes_letters = true}));
  const std::vector<TokenId> prompt = RandomTokens(12, 4);
  const Sampler greedy = Must(Sampler::Create(kGreedy));
  const auto resident = Must(Engine::Load({.model_path = packed.gguf(), .compute = {.threads = 1}, .cache = {.context = 96}}));
  const std::vector<TokenId> expected = PromptWriter(*resident, prompt).Write(kGreedy, {.max_tokens = 40}, nullptr).tokens;
  Breaker breaker;
  EngineOptions streamed = {.model_path = packed.path(), .compute = {.threads = 1, .row_capacity = 32}, .cache = {.context = 96}};
  streamed.streaming.memory_budget = int64_t{4} << 30;
  streamed.streaming.pin = PinPolicy::kNone;
  streamed.hooks = Hooks({.wrap_device = [&](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<BreakableDevice>(std::move(device), breaker);
  }});
  const auto engine = Must(Engine::Load(streamed));
  const ExitPredictor predictor = PredictorFor(*engine, "width", 3);
  int failed = 0;
  for (int read = 0; read < Fewer(60, 10); ++read) {
    SCOPED_TRACE(read);
    const auto session = Must(engine->NewSession());
    Must(session->Append(prompt));
    Speculator speculator(std::make_unique<RandomDrafter>(kTinyVocabulary, read, expected), {.max_rows = 8, .weigh_costs = false});
    const Pruning prune = {.predictor = &predictor, .rule = {.threshold = 0.4f}, .weigh_costs = false};
    breaker.BreakReadFromNow(5 * read);
    const absl::StatusOr<Generation> broken = Generate(*session, greedy, {.max_tokens = 40, .speculator = &speculator, .prune = prune});
    breaker.Repair();
    failed += broken.ok() ? 0 : 1;
    const std::vector<TokenId> held(session->tokens().begin() + prompt.size(), session->tokens().end());
    ASSERT_LE(held.size(), expected.size());
    EXPECT_TRUE(std::equal(held.begin(), held.end(), expected.begin()));
  }
  EXPECT_GE(failed, Fewer(30, 5));
}

}  // namespace
}  // namespace tessera
