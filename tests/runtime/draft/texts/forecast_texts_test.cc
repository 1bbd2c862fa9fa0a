// Texts that a model drafts itself, by forecasts beside the nodes of its trees: each is the text of plain decoding.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/placed_forecasts.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/spec/drafters/forecast_drafter.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/forecast_file.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/small_texts.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

constexpr ForecastSizes kSizes = {.slots = 6, .forecasts = 3};
const SamplingOptions kGreedy = {.temperature = 0};
const SamplingOptions kSampled = {.temperature = 0.8f, .top_k = 40, .seed = 7};
const TinyModel kLetters = {.layers = 2, .writes_letters = true};

EngineOptions Options(int context = 128) {
  EngineOptions options = {.compute = {.threads = 2, .row_capacity = 32}, .cache = {.context = context}};
  options.workload.reserved_slots = kSizes.slots;
  return options;
}

std::shared_ptr<const PlacedForecasts> PlacedIn(Engine& engine, const ForecastFile& file) {
  return Must(PlacedForecasts::Place(SharedCoreOf(engine), MakeForecasts(file, engine.config())));
}
std::shared_ptr<const PlacedForecasts> PlacedIn(Engine& engine, uint64_t seed = 1) {
  return PlacedIn(engine, RandomForecasts(engine.config(), kSizes, seed));
}

std::unique_ptr<Drafter> DrafterOf(std::shared_ptr<const PlacedForecasts> placed, const Branches& branches) {
  return std::make_unique<ForecastDrafter>(std::move(placed),
                                           ForecastDrafter::Options{.forecasts = kSizes.forecasts, .branches = branches});
}

// Every row is computed, whatever it costs.
Speculator ByForecasts(std::shared_ptr<const PlacedForecasts> placed, const Branches& branches, std::unique_ptr<Drafter> other = nullptr) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(DrafterOf(std::move(placed), branches));
  if (other != nullptr) drafters.push_back(std::move(other));
  return Speculator(std::move(drafters), {.weigh_costs = false});
}

TEST(ForecastTexts, HaveTheBitsOfPlainDecoding) {
  int64_t forecasts = 0, drafted = 0;
  for (const char* architecture : kArchitectures) {
    for (const auto& [format, scatter] : {std::pair{KvFormat::kHalf, uint64_t{0}}, {KvFormat::kInt8, uint64_t{3}}}) {
      EngineOptions options = Options();
      options.cache.kv_format = format;
      options.hooks = Hooks({.scatter_seed = scatter});
      const auto engine = TinyEngine({.architecture = architecture, .layers = 3, .writes_letters = true}, options);
      PromptWriter writer(*engine, RandomTokens(20, 3));
      for (const SamplingOptions& sampling : {kGreedy, kSampled}) {
        const WrittenText plain = writer.Write(sampling, {.max_tokens = 50}, nullptr);
        const auto placed = PlacedIn(*engine, scatter + 1);
        for (const Branches& branches : {Branches{3, 2}, {15}, {1, 1, 5}, {}}) {
          Speculator alone = ByForecasts(placed, branches);
          EXPECT_EQ(writer.WriteWith(sampling, {.max_tokens = 50}, &alone), plain) << BranchesText(branches);
          Speculator merged = ByForecasts(placed, branches, std::make_unique<RandomDrafter>(kTinyVocabulary, 5, plain.tokens));
          EXPECT_EQ(writer.WriteWith(sampling, {.max_tokens = 50}, &merged), plain) << BranchesText(branches);
          forecasts += alone.report().forecast_rows + merged.report().forecast_rows;
          drafted += writer.drafted();
        }
      }
    }
  }
  EXPECT_GT(forecasts, 10'000);
  EXPECT_GT(drafted, 300);
}

// A model that writes nothing but "a": all tokens' embeddings are nearly the same, and the head knows that one.
std::unique_ptr<Engine> EngineOfA() {
  GgufBuilder builder = TinyModelBuilder({.formats = {BlockFormat::kF32}});
  SeededRandom random(3);
  const auto tensor = [&](const std::string& name, float around, float spread, int only) {
    std::vector<float> numbers;
    for (int i = 0; i < kTinyVocabulary * 64; ++i) {
      numbers.push_back(only >= 0 && i / 64 != only ? 0 : around + random.Uniform(-spread, spread));
    }
    builder.RemoveTensor(name).Tensor(name, {64, kTinyVocabulary}, /*gguf_type=*/0,
                                      std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)));
  };
  tensor("token_embd.weight", 20, 0.5f, -1);
  tensor("output.weight", 0.5f, 0.1f, 'a');
  const TemporaryFolder folder;
  EngineOptions options = Options();
  options.model_path = folder.Path("a.gguf");
  builder.WriteTo(options.model_path);
  return Must(Engine::Load(options));
}

// What a good training would find for it; with the other sign what a very bad one would.
ForecastFile PlantedForecasts(const ModelConfig& config, float number = 20) {
  ForecastFile file = RandomForecasts(config, kSizes, 1);
  for (float& embedding : file.Of("forecasts").numbers) embedding = number;
  return file;
}

TEST(ForecastTexts, ForecastsThatComeTrueAreTokensOfFewerPasses) {
  const auto engine = EngineOfA();
  PromptWriter writer(*engine, RandomTokens(8, 3));
  const WrittenText plain = writer.Write(kGreedy, {.max_tokens = 61}, nullptr);
  EXPECT_EQ(plain.text, std::string(61, 'a'));
  EXPECT_EQ(writer.passes(), 60);
  const auto planted = PlacedIn(*engine, PlantedForecasts(engine->config()));
  const auto bad = PlacedIn(*engine, PlantedForecasts(engine->config(), -20));
  for (const auto& [branches, passes] : {std::pair(Branches{1, 1, 1}, 1 + 59 / 4 + 1), {Branches{3, 2}, 1 + 59 / 3 + 1},
                                         {Branches{15}, 1 + 59 / 2 + 1}, {Branches{}, 1 + 59 / 3 + 1}}) {
    Speculator speculator = ByForecasts(planted, branches);
    EXPECT_EQ(writer.WriteWith(kGreedy, {.max_tokens = 61}, &speculator), plain);
    EXPECT_LE(writer.passes(), passes) << BranchesText(branches);
    const DraftAccount account = speculator.report().sources[0].account;
    EXPECT_GE(account.accepted, 60 - writer.passes());
  }
  Speculator wrong = ByForecasts(bad, {1, 1, 1});
  EXPECT_EQ(writer.WriteWith(kGreedy, {.max_tokens = 61}, &wrong), plain);
  EXPECT_EQ(writer.passes(), 60);
}

// By costs: where rows are free it gains, where each costs a pass it is paused.
TEST(ForecastTexts, CostsDecide) {
  const auto engine = EngineOfA();
  PromptWriter writer(*engine, RandomTokens(8, 3));
  const WrittenText plain = writer.Write(kGreedy, {.max_tokens = 100}, nullptr);
  const auto planted = PlacedIn(*engine, PlantedForecasts(engine->config()));
  CostProfile free = FrozenCosts(), dear;
  for (const int rows : {1, 1, 1, 32, 32, 32}) dear.AddPass({.rows = rows}, rows), dear.AddHead(rows, 1e-3 * rows);
  dear.Freeze();
  for (CostProfile* const costs : {&free, &dear}) {
    Speculator speculator(DrafterOf(planted, {1, 1, 1}), {.costs = costs});
    EXPECT_EQ(writer.WriteWith(kGreedy, {.max_tokens = 100}, &speculator), plain);
    if (costs == &free) {
      EXPECT_LT(writer.passes(), 40);
    } else {
      EXPECT_LT(speculator.report().forecast_rows, 30);
    }
  }
}

// Trees that are right by half, of which each node may have forecasts; notes what these say.
class NotingDrafter : public RandomDrafter {
 public:
  struct Note {
    size_t emitted = 0;               // Tokens after the prompt, when it was said.
    std::vector<TopTokens> ahead;
  };
  NotingDrafter(std::shared_ptr<const PlacedForecasts> placed, std::vector<TokenId> text, std::vector<Note>& notes)
      : RandomDrafter(kTinyVocabulary, 3, std::move(text)), placed_(std::move(placed)), notes_(notes) {}
  DrafterNeeds needs() const override { return {.forecast_rows = 2, .top_of_forecasts = 5, .forecast_tokens = 1}; }
  const PlacedForecasts* forecasts() const override { return placed_.get(); }
  void Commit(const TokenTree& tree, const Verdict& verdict) override {
    RandomDrafter::Commit(tree, verdict);
    if (!verdict.ahead.empty()) notes_.push_back({emitted_, verdict.ahead});
  }

 private:
  const std::shared_ptr<const PlacedForecasts> placed_;
  std::vector<Note>& notes_;
};

// The likeliest tokens by the first two forecasts of the last of these tokens, computed alone.
std::vector<TopTokens> AheadOf(EngineCore& core, const PlacedForecasts& placed, std::vector<TokenId> tokens) {
  const EngineCore::Hold hold = core.AwaitHold();
  const int64_t vocabulary = core.model().config().vocabulary;
  CachedText text(core.cache());
  std::vector<PassRow> rows;
  const TokenTree root(tokens.back());
  tokens.pop_back();
  text.Append(tokens);
  const auto run = [&] {
    Pass pass = Must(core.Begin(rows, nullptr));
    return Must(core.FinishAll(pass));
  };
  while (text.held() < text.length()) {
    const int count = std::min(text.length() - text.held(), 32);
    rows.clear();
    Must(core.MakeRoom(count));
    Must(text.PlaceNext(count, nullptr, rows));
    run();
  }
  rows.clear();
  Must(core.MakeRoom(3));
  const std::vector<int> nodes = {0};
  Must(text.PlaceTree(root, nullptr, rows, {.placed = &placed, .nodes = nodes, .each = 2}));
  const HiddenRows done = run();
  std::vector<TopTokens> ahead;
  for (const int row : {1, 2}) {
    std::vector<float> logits(static_cast<size_t>(vocabulary));
    Must(core.runner().Logits(done, {row}, TensorView<float>(logits.data(), 1, vocabulary)));
    ahead.push_back(TopTokensOf(logits, 5));
  }
  text.KeepPath({}, true);
  return ahead;
}

TEST(ForecastTexts, ForecastsBelongToTheNodeThatTheTextReached) {
  const auto engine = TinyEngine(kLetters, Options(/*context=*/256));
  const std::vector<TokenId> prompt = RandomTokens(12, 9);
  PromptWriter writer(*engine, prompt);
  const WrittenText plain = writer.Write(kGreedy, {.max_tokens = 60}, nullptr);
  const auto placed = PlacedIn(*engine);
  std::vector<NotingDrafter::Note> notes;
  EXPECT_EQ(writer.Write(kGreedy, {.max_tokens = 60}, std::make_unique<NotingDrafter>(placed, plain.tokens, notes), 24), plain);
  ASSERT_GT(notes.size(), 10u);
  for (const NotingDrafter::Note& note : notes) {
    std::vector<TokenId> text = prompt;   // Up to the token before the last that was emitted.
    text.insert(text.end(), plain.tokens.begin(), plain.tokens.begin() + static_cast<long>(note.emitted) - 1);
    const std::vector<TopTokens> expected = AheadOf(CoreOf(*engine), *placed, text);
    ASSERT_EQ(note.ahead.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      ASSERT_EQ(note.ahead[k].size(), expected[k].size());
      for (size_t i = 0; i < expected[k].size(); ++i) {
        EXPECT_EQ(note.ahead[k][i].token, expected[k][i].token);
        EXPECT_EQ(note.ahead[k][i].probability, expected[k][i].probability);
      }
    }
  }
}

// Until the context is full, and with few tokens wanted: the last passes have no room for forecasts, or no use.
TEST(ForecastTexts, EndsMatchPlainDecoding) {
  const auto engine = TinyEngine(kLetters, Options(/*context=*/48));
  PromptWriter writer(*engine, RandomTokens(15, 4));
  const auto placed = PlacedIn(*engine);
  for (const int tokens : {0, 1, 2, 3, 4, 9}) {
    const WrittenText plain = writer.Write(kSampled, {.max_tokens = tokens, .ignore_end = true}, nullptr);
    for (const Branches& branches : {Branches{3, 2}, {1, 1, 1}, {}}) {
      Speculator speculator = ByForecasts(placed, branches, std::make_unique<ScriptedDrafter>(plain.tokens));
      EXPECT_EQ(writer.WriteWith(kSampled, {.max_tokens = tokens, .ignore_end = true}, &speculator), plain) << tokens;
    }
    EXPECT_EQ(plain.reason, tokens == 0 ? FinishReason::kContextFull : FinishReason::kLength);
  }
}

TEST(ForecastTexts, TextsOfAStepperShareThePrefix) {
  constexpr int kTexts = 6;
  const auto engine = TinyEngine(kLetters, Options(/*context=*/256));
  const LoraAdapter adapter = RandomAdapter(engine->config(), /*rank=*/2, kAllTargets, /*seed=*/1);
  const KvCache& cache = CoreOf(*engine).cache();
  const int free = cache.free_slots();
  {
    const auto placed = PlacedIn(*engine);
    std::vector<std::unique_ptr<Speculator>> speculators;
    for (const LoraAdapter* const used : {static_cast<const LoraAdapter*>(nullptr), &adapter}) {
      Answers alone, answers;
      for (const bool drafts : {false, true}) {
        const auto stepper = Must(Stepper::Create(*engine, {.keeps_prefixes = false}));
        for (int number = 0; number < kTexts; ++number) {
          StreamOptions options = TextNumber(number, /*tokens=*/30);
          options.adapter = number % 3 == 0 ? nullptr : used;
          const Branches branches = number % 2 == 0 ? Branches{3, 2} : Branches();
          if (drafts && number != 4) {   // One without any beside the others.
            speculators.push_back(std::make_unique<Speculator>(DrafterOf(placed, branches), Speculator::Options{.weigh_costs = false}));
            options.text.speculator = speculators.back().get();
          }
          options.on_end = (drafts ? answers : alone).Keep(number);
          stepper->Submit(std::move(options));
        }
        Must(stepper->Run());
      }
      ASSERT_EQ(answers.texts.size(), static_cast<size_t>(kTexts));
      for (int number = 0; number < kTexts; ++number) EXPECT_EQ(answers.texts[number].tokens, alone.texts[number].tokens) << number;
    }
    int64_t forecasts = 0;
    for (const auto& speculator : speculators) forecasts += speculator->report().forecast_rows;
    EXPECT_GT(forecasts, 1000);
    EXPECT_EQ(cache.free_slots(), free - kSizes.slots);
  }
  EXPECT_EQ(cache.free_slots(), free);
}

TEST(ForecastTexts, PrunedNodesTakeTheirForecastsWithThem) {
  const auto engine = TinyEngine({.layers = 4, .writes_letters = true}, Options());
  PromptWriter writer(*engine, RandomTokens(12, 4));
  const WrittenText plain = writer.Write(kGreedy, {.max_tokens = 50}, nullptr);
  const TemporaryFolder folder;
  const std::string path = folder.Path("exit.safetensors");
  WritePredictor(path, RandomPredictor(engine->config(), "vocabulary", /*layer=*/2, /*seed=*/1));
  const LoadedModel& model = CoreOf(*engine).model();
  const ExitPredictor predictor = Must(ExitPredictor::Load(path, model.config(), model.layout(), model.weights()));
  int64_t dropped = 0;
  for (const float threshold : {0.1f, 0.4f, 2.0f}) {
    Speculator speculator = ByForecasts(PlacedIn(*engine), {2, 2}, std::make_unique<RandomDrafter>(kTinyVocabulary, 5, plain.tokens));
    const Pruning prune = {.predictor = &predictor, .rule = {.threshold = threshold, .with_safeguards = false}, .weigh_costs = false};
    EXPECT_EQ(writer.WriteWith(kGreedy, {.max_tokens = 50, .prune = prune}, &speculator), plain) << threshold;
    dropped += speculator.report().rows - writer.rows();
    EXPECT_GT(speculator.report().forecast_rows, 50);
  }
  EXPECT_GT(dropped, 100);
}

// A model that is read anew in each pass; and reads that break: the session holds what was text before.
TEST(ForecastTexts, OfAStreamedModelAreTheSame) {
  const PackedModel packed(TinyModelBuilder({.layers = 6, .writes_letters = true}));
  const std::vector<TokenId> prompt = RandomTokens(12, 4);
  const auto resident = Must(Engine::Load({.model_path = packed.gguf(), .compute = {.threads = 1}, .cache = {.context = 128}}));
  const std::vector<TokenId> expected = PromptWriter(*resident, prompt).Write(kGreedy, {.max_tokens = 40}, nullptr).tokens;
  Breaker breaker;
  EngineOptions streamed = Options();
  streamed.model_path = packed.path();
  streamed.streaming.memory_budget = int64_t{4} << 30;
  streamed.streaming.pin = PinPolicy::kNone;
  streamed.hooks = Hooks({.wrap_device = [&](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<BreakableDevice>(std::move(device), breaker);
  }});
  const auto engine = Must(Engine::Load(streamed));
  const int free = CoreOf(*engine).cache().free_slots();
  const auto placed = PlacedIn(*engine);
  PromptWriter writer(*engine, prompt);
  Speculator whole = ByForecasts(placed, {3, 2});
  EXPECT_EQ(writer.WriteWith(kGreedy, {.max_tokens = 40}, &whole).tokens, expected);
  const Sampler greedy = Must(Sampler::Create(kGreedy));
  int failed = 0;
  for (int read = 0; read < 20; ++read) {
    const auto session = Must(engine->NewSession());
    Must(session->Append(prompt));
    Speculator speculator = ByForecasts(placed, {3, 2}, std::make_unique<RandomDrafter>(kTinyVocabulary, read, expected));
    breaker.BreakReadFromNow(5 * read);
    const absl::StatusOr<Generation> broken = Generate(*session, greedy, {.max_tokens = 40, .speculator = &speculator});
    breaker.Repair();
    failed += broken.ok() ? 0 : 1;
    const std::vector<TokenId> held(session->tokens().begin() + static_cast<long>(prompt.size()), session->tokens().end());
    ASSERT_LE(held.size(), expected.size());
    EXPECT_TRUE(std::equal(held.begin(), held.end(), expected.begin()));
  }
  EXPECT_GE(failed, 5);
  EXPECT_GE(CoreOf(*engine).cache().free_slots(), free - kSizes.slots - 52) << "slots of forecasts are lost";
}

TEST(ForecastTexts, ForecastsOfAnotherEngineAreRefused) {
  const auto engine = TinyEngine(kLetters, Options()), other = TinyEngine(kLetters, Options());
  Speculator speculator = ByForecasts(PlacedIn(*other), {1});
  const std::string expected = "forecasts: found those in another engine's cache, expected this one's";
  EXPECT_EQ(Stream::Create(CoreOf(*engine), {.prompt = {1}, .text = {.speculator = &speculator}}).status().message(), expected);
  const auto session = Must(engine->NewSession());
  Must(session->Append({{1}}));
  EXPECT_EQ(Generate(*session, Must(Sampler::Create(kGreedy)), {.max_tokens = 4, .speculator = &speculator}).status().message(), expected);
}

}  // namespace
}  // namespace tessera
