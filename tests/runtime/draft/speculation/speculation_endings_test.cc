// Where a plain text ends, a drafted one does, too: at an end token or a stop string in the middle of a draft, however it is sampled.
// What was accepted until then is kept as it was computed.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

TinyModel ModelOf(const std::string& architecture, bool letters) {
  const bool gemma = architecture == "gemma3";
  return {.architecture = architecture, .layers = gemma ? 7 : 2, .window = gemma ? 16 : 0, .writes_letters = letters, .seed = 10};
}

// Drafts that go on where the text ends, as the model would and as it would not: right ones, random ones, and ever the same token.
void ExpectPlain(PromptWriter& writer, const SamplingOptions& sampling, const GenerateOptions& options, const WrittenText& plain,
                 const std::vector<TokenId>& beyond) {
  std::vector<TokenId> last_again = plain.tokens;
  last_again.insert(last_again.end(), 12, plain.tokens.back());
  for (const int max_rows : {3, 8, 32}) {
    EXPECT_EQ(writer.Write(sampling, options, std::make_unique<ScriptedDrafter>(beyond), max_rows), plain) << max_rows;
    EXPECT_EQ(writer.drafted(), writer.passes());
    EXPECT_EQ(writer.Write(sampling, options, std::make_unique<ScriptedDrafter>(last_again), max_rows), plain) << max_rows;
    EXPECT_EQ(writer.Write(sampling, options, std::make_unique<RandomDrafter>(kTinyVocabulary, max_rows, beyond), max_rows), plain)
        << max_rows;
  }
}

class SpeculationEndings : public testing::TestWithParam<const char*> {};

TEST_P(SpeculationEndings, NothingFollowsAnEndToken) {
  const auto engine = TinyEngine(ModelOf(GetParam(), false), {.compute = {.threads = 1, .row_capacity = 32}, .cache = {.context = 160}});
  PromptWriter writer(*engine, RandomTokens(20, 12));
  int ended = 0;
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(Fewer(30, 6)); ++seed) {
    SCOPED_TRACE(seed);
    const SamplingOptions hot = {.temperature = 8, .top_k = 0, .top_p = 1, .min_p = 0, .repetition_penalty = 1.1f, .seed = seed};
    const WrittenText plain = writer.Write(hot, {.max_tokens = 100}, nullptr);
    if (plain.reason != FinishReason::kEndToken) continue;
    ++ended;
    EXPECT_EQ(plain.held.size(), 20 + plain.tokens.size() - 1);
    const int further = static_cast<int>(plain.tokens.size()) + 20;
    const std::vector<TokenId> beyond = writer.Write(hot, {.max_tokens = further, .ignore_end = true}, nullptr).tokens;
    ExpectPlain(writer, hot, {.max_tokens = 100}, plain, beyond);
  }
  EXPECT_GE(ended, Fewer(5, 1)) << "an end token is one of 265";
}

// With every step of sampling that looks at the text so far or at the other tokens.
TEST_P(SpeculationEndings, NothingFollowsAStopStringInASampledText) {
  const auto engine = TinyEngine(ModelOf(GetParam(), true), {.compute = {.threads = 1, .row_capacity = 32}, .cache = {.context = 160}});
  PromptWriter writer(*engine, RandomTokens(20, 12));
  const SamplingOptions samplings[] = {
      {.temperature = 0.8f, .top_k = 40, .min_p = 0.05f, .repetition_penalty = 1.1f, .seed = 7},
      {.temperature = 1.5f, .top_k = 0, .top_p = 1, .min_p = 0.2f, .repetition_penalty = 1.5f, .penalty_window = 8, .seed = 3},
      {.temperature = 0, .repetition_penalty = 1.3f}};
  for (size_t kind = 0; kind < std::size(samplings); ++kind) {
    const WrittenText whole = writer.Write(samplings[kind], {.max_tokens = 70, .ignore_end = true}, nullptr);
    const std::string& text = whole.text;
    for (size_t begin = 1; begin + 8 < text.size(); begin += Fewer(6, 17)) {
      SCOPED_TRACE(absl::StrCat("sampling ", kind, ", stop at ", begin));
      // The first never comes, but what may be its beginning is held back.
      const std::string never = text.substr(begin, 2) + "!", stop = text.substr(begin + 3, 1 + begin % 4);
      const GenerateOptions options = {.max_tokens = 70, .stop = {never, stop}, .ignore_end = true};
      const WrittenText plain = writer.Write(samplings[kind], options, nullptr);
      EXPECT_EQ(plain.reason, FinishReason::kStopString);
      EXPECT_EQ(plain.text, text.substr(0, text.find(stop)));
      ExpectPlain(writer, samplings[kind], options, plain, whole.tokens);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, SpeculationEndings, testing::ValuesIn(kArchitectures),
                         [](const auto& info) { return info.param; });

// What the engine computed for a text of 61 tokens and, after it, for its last token.
struct Computed {
  PassRunner::Work work;
  std::vector<TokenId> text;
};
Computed Compute(Engine& engine, Speculator* speculator) {
  const auto session = Must(engine.NewSession());
  Must(session->Append(RandomTokens(20, 12)));
  const EngineStats before = engine.stats();
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  const std::vector<TokenId> text =
      Must(Generate(*session, greedy, {.max_tokens = 61, .ignore_end = true, .speculator = speculator})).tokens;
  Must(session->Append({text.back()}));
  const EngineStats after = engine.stats();
  return {{.passes = after.passes - before.passes, .rows = after.rows - before.rows}, text};
}

// Rows are those of the trees: of what was accepted none is computed again, then or for what comes after.
TEST(SpeculationKeeps, AcceptedRowsAsComputed) {
  for (const std::string architecture : kArchitectures) {
    for (const bool compact : {true, false}) {
      SCOPED_TRACE(absl::StrCat(architecture, compact ? "" : ", drafts stay where they are"));
      EngineOptions options = {.compute = {.threads = 1, .row_capacity = 32},
                               .cache = {.context = 160},
                               .hooks = Hooks({.scatter_seed = compact ? 0u : 5u, .compact_drafts = compact})};
      const auto engine = TinyEngine(ModelOf(architecture, true), options);
      const Computed plain = Compute(*engine, nullptr);
      EXPECT_EQ(plain.work.passes, 61);
      EXPECT_EQ(plain.work.rows, 61);
      Speculator oracle(std::make_unique<ScriptedDrafter>(plain.text), {.max_rows = 12, .weigh_costs = false});
      const Computed right = Compute(*engine, &oracle);
      EXPECT_EQ(right.text, plain.text);
      EXPECT_EQ(right.work.passes, 5 + 1);   // Passes of 12 rows, and one for the last token.
      EXPECT_EQ(right.work.rows, 61);
      Speculator random(std::make_unique<RandomDrafter>(kTinyVocabulary, 4, plain.text), {.max_rows = 12, .weigh_costs = false});
      const Computed mixed = Compute(*engine, &random);
      EXPECT_EQ(mixed.text, plain.text);
      EXPECT_EQ(mixed.work.passes, random.report().steps + 1);
      EXPECT_EQ(mixed.work.rows, random.report().rows + 1);
      EXPECT_GT(mixed.work.rows, 2 * mixed.work.passes);
    }
  }
}

}  // namespace
}  // namespace tessera
