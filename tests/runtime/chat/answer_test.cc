#include "tessera/runtime/chat/answer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/base/usage_error.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";

TEST(Answerer, HeaderExample) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  Answerer answerer = Must(Answerer::Create(*engine, {.sampling = {.temperature = 0}, .stop = {"\n\n"}}));
  std::string shown;
  const auto show = [&](absl::string_view text) { shown.append(text.data(), text.size()); };
  const Generation answer = Must(answerer.Run({70, 71, 72}, {.max_tokens = 16, .on_text = show}));
  EXPECT_EQ(shown, answer.text);
  EXPECT_EQ(answerer.timings().prompt_tokens, 3);
  EXPECT_EQ(answerer.timings().output_tokens, static_cast<int64_t>(answer.tokens.size()));
  JsonWriter json;
  WriteTimings(json, answerer.timings());
  EXPECT_EQ(*Must(JsonValue::Parse(std::move(json).Take())).Int("prompt_tokens"), 3);
}

TEST(Answerer, TokensHeldByTheSessionAreNotComputedAgainAndChangeNoToken) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const AnswererOptions greedy = {.sampling = {.temperature = 0}};
  const std::vector<TokenId> first = {70, 71, 72, 73}, second = {70, 71, 72, 80, 81};
  std::vector<TokenId> fresh;
  {
    Answerer other = Must(Answerer::Create(*engine, greedy));
    fresh = Must(other.Run(second, {.max_tokens = 8})).tokens;
  }
  Answerer answerer = Must(Answerer::Create(*engine, greedy));
  Must(answerer.Run(first, {.max_tokens = 8}));
  EXPECT_EQ(Must(answerer.Run(second, {.max_tokens = 8})).tokens, fresh);
  EXPECT_EQ(answerer.timings().prompt_tokens, 4 + 2) << "three were there";
  answerer.Reset();
  EXPECT_EQ(answerer.length(), 0);
}

TEST(Answerer, TextHiddenByAStopStringLeavesTheSession) {
  const auto engine = TinyEngine({.writes_letters = true}, {.compute = {.threads = 1}});
  const std::vector<TokenId> prompt = {'x', ' ', 'y'};
  for (const std::string drafters : {"none", "lookup,suffix"}) {
    Answerer answerer = Must(Answerer::Create(*engine, {.sampling = {.temperature = 0}, .speculation = {.speculate = drafters}}));
    const std::string whole = Must(answerer.Run(prompt, {.max_tokens = 24})).text;
    ASSERT_EQ(whole.size(), 24u);
    for (const size_t begin : {0u, 5u, 11u}) {
      const std::string stop = whole.substr(begin, 4);
      const Generation answer = Must(answerer.Run(prompt, {.max_tokens = 24, .stop = std::vector<std::string>{stop}}));
      ASSERT_EQ(answer.reason, FinishReason::kStopString);
      EXPECT_EQ(answer.text, whole.substr(0, whole.find(stop)));
      EXPECT_GE(answer.tokens.size(), answer.text.size() + 4) << "the result has all tokens";
      std::string held;
      for (const TokenId token : answerer.session().tokens()) held += engine->tokenizer().Piece(token);
      EXPECT_EQ(held, "x y" + answer.text);
    }
  }
}

TEST(Answerer, FirstTokensFollowThePromptAndAnswersBeginWithThem) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const std::vector<TokenId> prompt = {70, 71, 72, 73};
  std::vector<int64_t> read;
  Answerer answerer = Must(Answerer::Create(*engine, {.sampling = {.temperature = 0}, .speculation = {.speculate = "none"}}));
  const auto on_stage = [&](AnswerOptions::Stage stage, int64_t most) {
    if (stage == AnswerOptions::Stage::kPrompt) read.push_back(most);
  };
  const std::vector<FirstToken> firsts = Must(answerer.FirstTokens(prompt, 3, {.on_stage = on_stage}));
  ASSERT_EQ(firsts.size(), 3u);
  const auto session = Must(engine->NewSession());
  Must(session->Append(prompt));
  EXPECT_EQ(firsts[1].token, Must(LikeliestFirstTokens(session->logits(), engine->tokenizer(), 2))[1].token);
  for (const FirstToken& first : firsts) {
    const Generation answer = Must(answerer.Run(prompt, {.max_tokens = 5, .first = first.token, .on_stage = on_stage}));
    session->Truncate(static_cast<int>(prompt.size()) - 1);
    Must(session->Append({prompt.back()}));
    const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
    EXPECT_EQ(answer.tokens, Must(Generate(*session, greedy, {.max_tokens = 5, .first = first.token})).tokens);
    EXPECT_EQ(answer.tokens[0], first.token);
  }
  EXPECT_EQ(read, (std::vector<int64_t>{4, 1, 1, 1})) << "its last token, for each answer";
  EXPECT_EQ(answerer.timings().prompt_tokens, 4 + 3);
  EXPECT_FALSE(answerer.FirstTokens({}, 3).ok());
  EXPECT_FALSE(answerer.FirstTokens(prompt, 1 << 20).ok());
}

TEST(Answerer, GoesOnFromASessionThatIsThere) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  Answerer answerer = Must(Answerer::Create(*engine, {.sampling = {.temperature = 0}}));
  auto session = Must(engine->NewSession());
  Must(session->Append({70, 71, 72}));
  answerer.GoOnFrom(std::move(session));
  EXPECT_EQ(answerer.length(), 3);
  Must(answerer.Run({70, 71, 72, 73}, {.max_tokens = 2}));
  EXPECT_EQ(answerer.timings().prompt_tokens, 1) << "the others were there";
  EXPECT_EQ(answerer.session().tokens()[3], 73);
}

TEST(Answerer, StagesAreToldInOrder) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  Answerer answerer = Must(Answerer::Create(*engine, {}));
  using Stage = AnswerOptions::Stage;
  std::vector<std::pair<Stage, int64_t>> told;
  Must(answerer.Run({70, 71}, {.max_tokens = 3, .on_stage = [&](Stage stage, int64_t most) { told.emplace_back(stage, most); }}));
  const std::vector<std::pair<Stage, int64_t>> expected = {
      {Stage::kPrompt, 2}, {Stage::kDone, 0}, {Stage::kAnswer, 3}, {Stage::kDone, 0}};
  EXPECT_EQ(told, expected);
}

TEST(Answerer, TimingsCountByTheGivenClock) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  VirtualClock clock;
  clock.Advance(3'000'000'000);
  Answerer answerer = Must(Answerer::Create(*engine, {.clock = &clock, .asked_nanos = 1'000'000'000}));
  const auto wait = [&](AnswerOptions::Stage stage, int64_t) {
    if (stage == AnswerOptions::Stage::kAnswer) clock.Advance(500'000'000);
  };
  Must(answerer.Run({70, 71, 72}, {.max_tokens = 16, .on_stage = wait}));
  EXPECT_EQ(answerer.timings().first_token_seconds, 2.5);
  EXPECT_EQ(answerer.timings().generation_seconds, 0.5);
  EXPECT_EQ(answerer.timings().prompt_seconds, 0);
}

// The pass over the prompt gives the first token of an answer: nothing times it as generation.
TEST(Answerer, RatesCountThePassesThatWereTimed) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  Answerer answerer = Must(Answerer::Create(*engine, {}));
  Must(answerer.Run({70, 71, 72}, {.max_tokens = 1}));
  EXPECT_EQ(answerer.timings().output_tokens, 1);
  EXPECT_EQ(answerer.timings().GenerationRate(), std::nullopt);
  EXPECT_GT(answerer.timings().PromptRate(), 0);
  const Generation more = Must(answerer.Run({70, 71, 73}, {.max_tokens = 5}));
  EXPECT_EQ(answerer.timings().timed_tokens, static_cast<int64_t>(more.tokens.size()) - 1);
  EXPECT_GT(answerer.timings().GenerationRate(), 0);
}

// Waiting for weights takes real time, and no time by a clock that stands still. A file that is damaged at first keeps the second prompt
// waiting.
TEST(Answerer, NoPromptTakesLessThanNothingByTheGivenClock) {
  const PackedTiny model({});
  const int64_t place = Must(TsrReader::Open(model.packed()))->UnitOffset(2) + 300;
  std::fstream file(model.packed(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place);
  const char right = static_cast<char>(file.get());
  const auto put = [&](char byte) { file.seekp(place).put(byte).flush(); };
  put(static_cast<char>(~right));
  const auto engine = Must(Engine::Open({.model_path = model.packed(), .compute = {.threads = 1}}));
  Must(engine->LoadWeights());
  const VirtualClock clock;
  Answerer answerer = Must(Answerer::Create(*engine, {.clock = &clock}));
  ASSERT_TRUE(absl::IsDataLoss(answerer.Run({70, 71, 72}, {.max_tokens = 1}).status()));
  put(right);
  const double before = engine->stats().loading_seconds;
  Must(answerer.Run({70, 71, 72}, {.max_tokens = 1}));
  EXPECT_GT(engine->stats().loading_seconds, before);
  EXPECT_EQ(answerer.timings().prompt_seconds, 0);
}

TEST(Answerer, APromptThatDoesNotFitIsRefusedAndTheNextIsAnswered) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}, .cache = {.context = 8}}));
  Answerer answerer = Must(Answerer::Create(*engine, {}));
  EXPECT_EQ(LimitOf(answerer.Run(std::vector<TokenId>(9, 70), {}).status()), "context");
  EXPECT_TRUE(absl::IsInvalidArgument(answerer.Run({}, {}).status()));
  EXPECT_EQ(Must(answerer.Run({70}, {.max_tokens = 2})).tokens.size(), 2u);
}

TEST(ChatSpeculation, OptionsAreCheckedByName) {
  const TemporaryFolder folder;
  EngineOptions options;
  EXPECT_EQ(FieldOf(PlanSpeculation({.speculate = "lokup"}, options)), "speculate");
  EXPECT_EQ(FieldOf(PlanSpeculation({.history_prompts = true}, options)), "history_prompts");
  EXPECT_EQ(FieldOf(PlanSpeculation({.cost_profile = folder.path() + "/nowhere/costs"}, options)), "cost_profile");
  EXPECT_EQ(FieldOf(PlanSpeculation({.speculate = "none", .cost_profile = folder.Path("costs")}, options)), "cost_profile");
  EXPECT_TRUE(PlanSpeculation({.speculate = "none"}, options).ok());
  EXPECT_EQ(options.workload.drafting_bytes, nullptr) << "nothing is drafted or kept";
}

// A draft model would be made by such a lambda.
TEST(ChatSpeculation, ADrafterOfTheProgramsOwnIsPlannedForAndDrafts) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const AnswererOptions plain = {.sampling = {.temperature = 0}, .speculation = {.speculate = "none"}};
  const std::vector<TokenId> text = Must(Must(Answerer::Create(*engine, plain)).Run({70, 71, 72}, {.max_tokens = 12})).tokens;
  const DrafterRegistry::Kind oracle = {.name = "oracle",
                                        .make = [text](const DraftingSize&) { return std::make_unique<ScriptedDrafter>(text); },
                                        .most_bytes = [](const DraftingSize& size) { return int64_t{1000} * size.context; }};
  AnswererOptions drafting = {.sampling = {.temperature = 0}, .speculation = {.speculate = "oracle", .own_drafters = {oracle}}};
  EngineOptions options;
  Must(PlanSpeculation(drafting.speculation, options));
  EXPECT_EQ(options.workload.drafting_bytes(8, 256), 8000);
  EXPECT_EQ(options.workload.logit_rows, 1 + Session::kLogitRows);
  EXPECT_EQ(options.workload.least_logit_rows, 2);
  Answerer answerer = Must(Answerer::Create(*engine, drafting));
  EXPECT_EQ(Must(answerer.Run({70, 71, 72}, {.max_tokens = 12})).tokens, text);
  EXPECT_EQ(answerer.speculation()->report().sources.front().name, "fake") << "as the drafter calls itself";
  drafting.speculation.own_drafters[0].name = "lookup";
  EXPECT_EQ(FieldOf(PlanSpeculation(drafting.speculation, options)), "own_drafters");
  EXPECT_EQ(FieldOf(PlanSpeculation({.speculate = "oracle"}, options)), "speculate") << "it is no other's";
}

DrafterRegistry::Kind Own(const std::string& name) {
  return {.name = name,
          .make = [](const DraftingSize&) { return std::make_unique<ScriptedDrafter>(std::vector<TokenId>()); },
          .most_bytes = [](const DraftingSize&) { return int64_t{1000}; }};
}

TEST(ChatSpeculation, ADrafterOfTheProgramsOwnWithoutAMakerOrItsBytesIsRefused) {
  EngineOptions options;
  DrafterRegistry::Kind unmade = Own("model"), unbounded = Own("model");
  unmade.make = nullptr;
  unbounded.most_bytes = nullptr;
  for (const auto& [kind, found] : {std::pair(unmade, "without make,"), std::pair(unbounded, "without most_bytes,")}) {
    const absl::Status status = PlanSpeculation({.own_drafters = {kind}}, options);
    EXPECT_EQ(FieldOf(status), "own_drafters");
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("found \"model\" ", found))) << status;
  }
  EXPECT_EQ(options.workload.drafting_bytes, nullptr);
}

TEST(ChatSpeculation, MoreDraftersThanOneTreeTakesAreRefusedBeforeTheEngineIsOpened) {
  EngineOptions options;
  SpeculationOptions speculation = {.own_drafters = {Own("a"), Own("b"), Own("c")}};
  EXPECT_EQ(PlanSpeculation(speculation, options), absl::OkStatus()) << "eight, with those that are built in";
  speculation.own_drafters.push_back(Own("d"));
  const absl::Status status = PlanSpeculation(speculation, options);
  EXPECT_EQ(FieldOf(status), "speculate");
  EXPECT_TRUE(absl::StrContains(status.message(), "found 9 in \"auto\", expected at most 8")) << status;
  speculation.speculate = "lookup,d";
  EXPECT_EQ(PlanSpeculation(speculation, options), absl::OkStatus());
}

TEST(ChatSpeculation, TextsAtOnceHaveTheirOwnSpeculatorsAndLaterTextsReuseThem) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto drafts = Must(Speculation::Create(*engine, {.speculate = "lookup"}));
  Speculator* const first = Must(drafts->Take());
  Speculator* const second = Must(drafts->Take());
  EXPECT_EQ(first, &drafts->speculator());
  EXPECT_NE(first, second);
  EXPECT_EQ(&first->costs(), &drafts->costs());
  EXPECT_EQ(&second->costs(), &drafts->costs());
  drafts->GiveBack(first);
  EXPECT_EQ(Must(drafts->Take()), first);
  for (Speculator* const speculator : {first, second}) {
    speculator->Begin({70, 71, 70});
    const TokenTree tree = speculator->Propose({.rows = 1, .depth = 0});
    speculator->Commit(tree, {.path = {0}, .emitted = {71}}, {.pass_seconds = 0.5, .first_rows = 1, .first_seconds = 0.25});
  }
  EXPECT_EQ(first->report().steps, 1);
  EXPECT_EQ(drafts->report().steps, 2);
  EXPECT_EQ(drafts->report().tokens, 2);
  EXPECT_DOUBLE_EQ(drafts->report().pass_seconds, 2 * first->report().pass_seconds);
  ASSERT_EQ(drafts->report().sources.size(), 1u);
  EXPECT_EQ(drafts->report().sources[0].account.calls, first->report().sources[0].account.calls * 2);
}

TEST(ChatSpeculation, APlanCountsTheDraftersOfEachText) {
  EngineOptions one, three;
  three.workload.sessions = 3;
  Must(PlanSpeculation({.speculate = "model", .own_drafters = {Own("model")}}, one));
  Must(PlanSpeculation({.speculate = "model", .own_drafters = {Own("model")}}, three));
  EXPECT_EQ(one.workload.drafting_bytes(8, 256), 1000);
  EXPECT_EQ(three.workload.drafting_bytes(8, 256), 3000);
}

// A maker may hold a draft model, which is large.
TEST(ChatSpeculation, APlanKeepsNoMaker) {
  auto weights = std::make_shared<int>(0);
  const std::weak_ptr<int> kept = weights;
  EngineOptions options;
  {
    DrafterRegistry::Kind own = Own("model");
    own.make = [weights](const DraftingSize&) { return std::make_unique<ScriptedDrafter>(std::vector<TokenId>()); };
    Must(PlanSpeculation({.speculate = "model", .own_drafters = {own}}, options));
  }
  weights.reset();
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(options.workload.drafting_bytes(8, 256), 1000);
}

TEST(ChatSpeculation, HeaderExampleKeepsAnswersForTheNextRun) {
  const TemporaryFolder folder;
  const SpeculationOptions speculation = {.speculate = "none", .history = "mail", .history_folder = folder.path()};
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  int64_t kept = 0;
  for (const bool before : {false, true}) {
    Answerer answerer = Must(Answerer::Create(*engine, {.speculation = speculation}));
    EXPECT_EQ(answerer.speculation()->history()->tokens() > 0, before);
    Must(answerer.Run({70, 71, 72}, {.max_tokens = 12}));
    ASSERT_TRUE(answerer.Save().ok());
    EXPECT_TRUE(answerer.speculation()->history()->replaced().ok());
    EXPECT_GT(answerer.speculation()->history()->tokens(), kept);
    kept = answerer.speculation()->history()->tokens();
  }
  EXPECT_EQ(Must(Speculation::Create(*engine, {.speculate = "none"})), nullptr);
}

}  // namespace
}  // namespace tessera
