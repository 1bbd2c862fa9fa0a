// Thousands of random drafts on small random models of every kind: each text is the plain one in every bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

const SamplingOptions kGreedy = {.temperature = 0};
const SamplingOptions kSampled = {.temperature = 0.8f, .top_k = 40, .min_p = 0.05f, .repetition_penalty = 1.1f, .seed = 7};
const SamplingOptions kHot = {.temperature = 3, .top_k = 0, .top_p = 1, .seed = 2};   // End tokens come, too.

TinyModel ModelOf(const std::string& architecture, bool letters) {
  const bool gemma = architecture == "gemma3";
  return {.architecture = architecture,
          .layers = gemma ? 7 : 2,
          .window = gemma ? 16 : 0,
          .tied = gemma && !letters,
          .writes_letters = letters};
}

// Where a cache puts the rows of drafts.
struct Placement {
  uint64_t scatter_seed;
  bool compact;
};
constexpr int kMostRows[] = {12, 32, 2, 20, 5};   // 32 are the most of an engine's drafts, unless it is told otherwise.
constexpr Placement kPlacements[] = {{0, true}, {3, true}, {0, false}, {5, false}};

struct Compared {
  int64_t drafted = 0;   // Passes that verified a draft.
  int ended = 0;         // Texts that an end token ended, while drafts go on.
};

// Runs the same drafts on `engine`, to the end of the context, or an end token.
void CompareWithPlain(Engine& engine, PromptWriter& plain_writer, int seeds, Compared& compared) {
  PromptWriter writer(engine, RandomTokens(40, 12));
  for (const SamplingOptions& sampling : {kGreedy, kSampled, kHot}) {
    const WrittenText plain = plain_writer.Write(sampling, {}, nullptr);
    compared.ended += plain.reason == FinishReason::kEndToken ? 1 : 0;
    const std::vector<TokenId> beyond = plain_writer.Write(sampling, {.ignore_end = true}, nullptr).tokens;
    for (int seed = 0; seed < seeds; ++seed) {
      auto drafter = std::make_unique<RandomDrafter>(engine.config().vocabulary, seed, beyond);
      EXPECT_EQ(writer.Write(sampling, {}, std::move(drafter), kMostRows[seed % std::size(kMostRows)]), plain) << "seed " << seed;
      compared.drafted += writer.drafted();
    }
  }
}

TEST(SpeculationRandom, ThousandsOfDraftsOfEveryArchitecture) {
  Compared compared;
  for (const std::string architecture : kArchitectures) {
    for (const bool letters : {true, false}) {
      for (const KvFormat format : {KvFormat::kHalf, KvFormat::kInt8}) {
        const EngineOptions options = {.compute = {.threads = 1, .row_capacity = 32}, .cache = {.context = 128, .kv_format = format}};
        const auto plain = TinyEngine(ModelOf(architecture, letters), options);
        PromptWriter plain_writer(*plain, RandomTokens(40, 12));
        for (const auto& [scatter, compact] : kPlacements) {
          SCOPED_TRACE(absl::StrCat(architecture, letters ? ", letters" : "", ", cache ", KvFormatName(format), ", scatter ",
                                    scatter, compact ? "" : ", drafts stay where they are"));
          EngineOptions other = options;
          other.hooks = Hooks({.scatter_seed = scatter, .compact_drafts = compact});
          other.compute.threads = scatter > 0 && letters && format == KvFormat::kHalf ? 2 : 1;
          const auto engine = TinyEngine(ModelOf(architecture, letters), other);
          CompareWithPlain(*engine, plain_writer, Fewer(5, 1), compared);
        }
      }
    }
  }
  EXPECT_GT(compared.drafted, Fewer(15000, 2000));
  EXPECT_GE(compared.ended, 20) << "no text was ended in the middle of a draft";
}

TEST(SpeculationRandom, SessionsSideBySideDoNotMeet) {
  const auto engine = TinyEngine(ModelOf("gemma3", true),
                                 {.compute = {.threads = 1, .row_capacity = 32}, .cache = {.context = 400}, .workload = {.sessions = 3}});
  std::vector<std::unique_ptr<PromptWriter>> writers;
  std::vector<WrittenText> plain;
  for (int i = 0; i < 3; ++i) writers.push_back(std::make_unique<PromptWriter>(*engine, RandomTokens(30 + i, i)));
  for (const auto& writer : writers) plain.push_back(writer->Write(kGreedy, {.max_tokens = 50}, nullptr));
  for (uint64_t seed = 0; seed < 9; ++seed) {
    const WrittenText& expected = plain[seed % 3];
    EXPECT_EQ(writers[seed % 3]->Write(kGreedy, {.max_tokens = 50},
                                       std::make_unique<RandomDrafter>(kTinyVocabulary, seed, expected.tokens)),
              expected);
  }
}

// A read that breaks in a pass over a draft ends the answer; the session holds what was text before, and goes on with the right tokens.
TEST(SpeculationRandom, AReadErrorInAPassOverADraftLosesNoToken) {
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
  int failed = 0;
  for (int read = 0; read < Fewer(60, 10); ++read) {
    SCOPED_TRACE(read);
    const auto session = Must(engine->NewSession());
    Must(session->Append(prompt));
    Speculator speculator(std::make_unique<RandomDrafter>(kTinyVocabulary, read, expected), {.max_rows = 8, .weigh_costs = false});
    breaker.BreakReadFromNow(5 * read);
    const absl::StatusOr<Generation> broken = Generate(*session, greedy, {.max_tokens = 40, .speculator = &speculator});
    breaker.Repair();
    failed += broken.ok() ? 0 : 1;
    const std::vector<TokenId> held(session->tokens().begin() + prompt.size(), session->tokens().end());
    ASSERT_LE(held.size(), expected.size());
    EXPECT_TRUE(std::equal(held.begin(), held.end(), expected.begin()));
    session->Truncate(session->length() - 1);  // Whose logits may not be known.
    Must(session->Append({held.empty() ? prompt.back() : held.back()}));
    const int left = static_cast<int>(expected.size() - held.size());
    if (left == 0) continue;
    const Generation rest = Must(Generate(*session, greedy, {.max_tokens = left, .speculator = &speculator}));
    EXPECT_EQ(rest.tokens, std::vector<TokenId>(expected.begin() + held.size(), expected.end()));
  }
  EXPECT_GE(failed, Fewer(30, 5));
}

// What ends a pass from outside, at any block of it.
TEST(SpeculationRandom, ACancelledPassOverADraftLosesNoToken) {
  std::atomic<bool> cancel = false;
  const auto engine = TinyEngine({.layers = 4, .writes_letters = true},
                                 {.compute = {.threads = 1, .row_capacity = 32}, .cache = {.context = 96}, .cancel = &cancel});
  const std::vector<TokenId> prompt = RandomTokens(12, 4);
  const WrittenText plain = PromptWriter(*engine, prompt).Write(kGreedy, {.max_tokens = 40}, nullptr);
  const Sampler greedy = Must(Sampler::Create(kGreedy));
  for (int shown = 1; shown < 30; ++shown) {
    const auto session = Must(engine->NewSession());
    Must(session->Append(prompt));
    Speculator speculator(std::make_unique<RandomDrafter>(kTinyVocabulary, shown, plain.tokens), {.max_rows = 8, .weigh_costs = false});
    GenerateOptions options = {.max_tokens = 40, .speculator = &speculator};
    int seen = 0;
    options.on_token = [&](TokenId, absl::Span<const float>) {
      if (++seen == shown) cancel = true;
    };
    const Generation ended = Must(Generate(*session, greedy, options));
    cancel = false;
    EXPECT_TRUE(std::equal(ended.tokens.begin(), ended.tokens.end(), plain.tokens.begin())) << shown;
    EXPECT_GE(static_cast<int>(ended.tokens.size()), shown);
    EXPECT_EQ(session->length(), static_cast<int>(prompt.size() + ended.tokens.size()) - 1);
  }
}

}  // namespace
}  // namespace tessera
