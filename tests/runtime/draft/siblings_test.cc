// Samples of one problem that draft from each other: each is what it is alone, bit for bit, whatever the others write, and takes fewer
// passes.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/spec/drafters/history/shared_history.h"
#include "tessera/spec/drafters/siblings_drafter.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/tests/fakes/random_program.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/stream_program.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::shared_ptr<SharedHistory> NewSet(int64_t tokens) {
  return std::make_shared<SharedHistory>(std::make_shared<SharedHistory::Room>(tokens));
}

struct Sample {
  std::vector<TokenId> tokens;
  std::vector<uint32_t> logits;   // Digests of those that each token was chosen from.
  bool operator==(const Sample&) const = default;
};

struct SampleRun {
  std::vector<Sample> samples;
  int64_t passes = 0;
  int64_t of_siblings = 0;        // Tokens that siblings drafted and that came.
};

class Siblings : public testing::Test {
 protected:
  // Samples of one prompt, `together` at once. siblings: null: nothing is drafted.
  SampleRun Write(int count, int together, const SamplingOptions& sampling, const std::shared_ptr<SharedHistory>& siblings,
                  int max_rows = 8) {
    SampleRun run = {.samples = std::vector<Sample>(count)};
    std::vector<std::unique_ptr<Speculator>> speculators(count);
    const auto stepper = Must(Stepper::Create(*engine_, {.most_texts = together, .keeps_prefixes = false}));
    for (int i = 0; i < count; ++i) {
      Sample& sample = run.samples[i];
      StreamOptions stream = {.prompt = RandomTokens(20, 7), .sampling = sampling};
      stream.text = {.max_tokens = 24, .stream = static_cast<uint64_t>(i), .ignore_end = true};
      stream.text.siblings = siblings;
      if (siblings != nullptr) {
        speculators[i] = std::make_unique<Speculator>(std::make_unique<SiblingsDrafter>(),
                                                      Speculator::Options{.max_rows = max_rows, .weigh_costs = false});
        stream.text.speculator = speculators[i].get();
      }
      stream.text.on_token = [&sample](TokenId token, absl::Span<const float> logits) {
        sample.tokens.push_back(token);
        sample.logits.push_back(DigestOf(logits));
      };
      stepper->Submit(std::move(stream));
    }
    Must(stepper->Run());
    run.passes = stepper->report().passes;
    for (const auto& speculator : speculators) {
      if (speculator != nullptr) run.of_siblings += speculator->report().sources[0].account.accepted;
    }
    return run;
  }

  const std::unique_ptr<Engine> engine_ =
      TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 2}, .cache = {.context = 64, .cache_tokens = 600}});
};

TEST_F(Siblings, SamplesThatDraftFromEachOtherEqualSamplesWithoutDrafts) {
  for (const float temperature : {0.0f, 0.4f, 1.0f}) {
    const SamplingOptions sampling = {.temperature = temperature, .top_k = 8, .seed = 3};
    const SampleRun plain = Write(/*count=*/8, /*together=*/8, sampling, nullptr);
    for (const int together : {1, 3, 8}) {
      for (const int64_t room : {8, 100, 2000}) {
        const auto set = NewSet(room);
        EXPECT_EQ(Write(8, together, sampling, set).samples, plain.samples) << temperature << " " << together << " " << room;
        EXPECT_LE(set->tokens(), room);
      }
    }
  }
}

// Greedy samples are all the same: each that begins later finds its whole text.
TEST_F(Siblings, TextsOfEndedSamplesAreDraftedForLaterSamples) {
  const SamplingOptions greedy = {.temperature = 0};
  const SampleRun plain = Write(/*count=*/6, /*together=*/1, greedy, nullptr), shared = Write(6, 1, greedy, NewSet(1000));
  EXPECT_EQ(shared.samples, plain.samples);
  EXPECT_LT(shared.passes, plain.passes / 2);
  EXPECT_GT(shared.of_siblings, 5 * 12);
}

TEST_F(Siblings, ADraftIsMadeFromATextThatIsStillWritten) {
  const SamplingOptions sampling = {.temperature = 0};
  const auto set = NewSet(1000);
  const int ahead = set->BeginText();   // It stands for a text that is written beside.
  const SampleRun plain = Write(1, 1, sampling, nullptr);
  for (int i = 0; i < 12; ++i) set->Add(ahead, plain.samples[0].tokens[i]);
  const SampleRun drafted = Write(1, 1, sampling, set);
  EXPECT_EQ(drafted.samples, plain.samples);
  EXPECT_GE(drafted.of_siblings, 8);
}

TEST_F(Siblings, WrongTextsOfOthersChangeNothing) {
  const SamplingOptions sampling = {.temperature = 0.7f, .seed = 4};
  const SampleRun plain = Write(4, 4, sampling, nullptr);
  SeededRandom random(5);
  const auto set = NewSet(2000);
  for (int text = 0; text < 5; ++text) {
    const int number = set->BeginText();
    for (int i = 0; i < 100; ++i) set->Add(number, static_cast<TokenId>(random.Below(engine_->config().vocabulary)));
  }
  EXPECT_EQ(Write(4, 4, sampling, set, /*max_rows=*/16).samples, plain.samples);
}

// Texts begin, fork, end and are cancelled, in sets that come and go; the two threads also choose tokens for several texts at once.
TEST(SiblingPrograms, TextsInSetsKeepTheirBitsInAnyCompany) {
  const TemporaryFolder folder;
  EngineOptions options = {.compute = {.threads = 2, .row_capacity = 32}, .cache = {.context = 128, .cache_tokens = 400}};
  options.model_path = folder.Path("tiny.gguf");
  TinyModelBuilder({.writes_letters = true, .seed = 3}).WriteTo(options.model_path);
  const auto engine = Must(Engine::Load(options));
  LoneWriter alone(options);
  const int steps = Fewer(2500, 150);
  SCOPED_TRACE(absl::StrCat("TESSERA_TEST_SEED=", TestSeed()));
  StreamProgram program(*engine, alone, {.seed = TestSeed(), .steps = steps, .siblings = true, .restart_every = 300});
  EXPECT_EQ(program.Run(), "");
  if (kSanitized) return;   // Too short a program to have tried so much.
  EXPECT_GT(program.counts().cancelled, steps / 100);
  EXPECT_GT(program.counts().of_siblings, steps / 50);
}

ParallelOptions Options(const std::string& speculate) {
  ParallelOptions options = {.texts = 4, .speculation = {.speculate = speculate}};
  options.speculation.siblings = true;
  return options;
}

TEST(SiblingAnswers, AnswersToOnePromptHaveASetIfTheirDraftersReadSets) {
  const std::pair<const char*, bool> cases[] = {{"auto", true}, {"siblings", true}, {"lookup", false}, {"none", false}};
  for (const auto& [speculate, drafts] : cases) {
    const ParallelOptions options = Options(speculate);
    EngineOptions engine_options = {.compute = {.threads = 1}, .cache = {.context = 128}};
    Must(PlanParallel(options, engine_options));
    const auto engine = TinyEngine({.writes_letters = true}, engine_options);
    const auto answers = Must(ParallelAnswers::Create(*engine, options));
    const std::shared_ptr<SharedHistory> set = answers->NewSet();
    EXPECT_EQ(set != nullptr, drafts) << speculate;
    int ended = 0;
    for (uint64_t i = 0; i < 6; ++i) {
      answers->Add({.prompt = {1, 2, 3}, .sampling = {.temperature = 1}, .stream = i, .max_tokens = 10, .siblings = set,
                    .on_end = [&](const absl::StatusOr<TimedAnswer>& answer) { ended += Must(answer).text.tokens.empty() ? 0 : 1; }});
    }
    Must(answers->Run());
    EXPECT_EQ(ended, 6);
    if (set == nullptr) continue;
    EXPECT_GE(set->tokens(), 6 * 2) << "all six are in it";
    EXPECT_EQ(set.use_count(), 1) << "nobody holds a set whose answers have ended";
  }
}

TEST(SiblingAnswers, WhereTextsAreWrittenAloneTheDrafterIsRefused) {
  EngineOptions options;
  const absl::Status status = PlanSpeculation({.speculate = "lookup,siblings"}, options);
  EXPECT_EQ(FieldOf(status), "speculate") << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "found \"siblings\" where texts are written alone")) << status;
  Must(PlanSpeculation({.speculate = "lookup,siblings", .siblings = true}, options));
}

TEST(SiblingAnswers, MemoryPlansCountTheRoomOfSets) {
  constexpr int kContext = 512, kVocabulary = 1000;
  EngineOptions with, without;
  with.workload.sessions = without.workload.sessions = 4;
  Must(PlanSpeculation({.speculate = "lookup,siblings", .siblings = true}, with));
  Must(PlanSpeculation({.speculate = "lookup"}, without));
  const int64_t more = with.workload.drafting_bytes(kContext, kVocabulary) - without.workload.drafting_bytes(kContext, kVocabulary);
  const int64_t drafters = 4 * static_cast<int64_t>(sizeof(SiblingsDrafter));
  EXPECT_EQ(more, SharedHistory::UsualRoom(kContext) * SharedHistory::kMostBytesPerToken + drafters);
}

}  // namespace
}  // namespace tessera
