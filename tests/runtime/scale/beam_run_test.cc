// Beam search on shared passes: the texts that a search finds which writes every step alone, and no token computed twice.
#include "tessera/runtime/scale/beam_run.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/lone_search.h"

namespace tessera {
namespace {

TEST(BeamRun, HeaderExample) {
  BeamRunOptions options = {.beams = {.width = 4, .expansions = 4, .delimiter = "\n\n"}, .sampling = {.seed = 7}};
  options.max_tokens = 20;
  options.max_step_tokens = 5;
  const auto engine = EngineFor(LettersModel(), options);
  SelfCertaintyScorer scorer;
  const BeamTexts written = Must(RunBeams(*engine, RandomTokens(9, 1), scorer, options));
  EXPECT_EQ(written.best().text.size(), 20u);
  EXPECT_EQ(written.best().score, written.best().self_certainty);
  EXPECT_EQ(written.texts.size(), 4u);
}

TEST(BeamRun, TextsEqualASearchThatWritesEachStepAlone) {
  int ended = 0, cut = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    BeamRunOptions options = {.beams = {.width = 1 + static_cast<int>(seed % 3), .expansions = 2 + static_cast<int>(seed % 2),
                                        .delimiter = "e", .most_steps = 2 + static_cast<int>(seed)},
                              .max_step_tokens = 6, .max_tokens = 24, .sampling = {.temperature = 1, .seed = seed}};
    if (seed % 2 == 1) options.stop = {"q", "ze"};
    BeamTexts written;
    CompareWithLone(LettersModel(), options, /*prompt_tokens=*/20, {}, &written);
    (written.texts[0].path.size() == static_cast<size_t>(options.beams.most_steps) ? cut : ended) += 1;
  }
  EXPECT_GT(ended, 0);
  EXPECT_GT(cut, 0);
}

TEST(BeamRun, ADelimiterWithinATokenLeavesTheTokenWhole) {
  int rests = 0, end_tokens = 0;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const BeamRunOptions options = {.beams = {.width = 3, .expansions = 3, .delimiter = "l", .most_steps = 6},
                                    .max_step_tokens = 12, .max_tokens = 60, .sampling = AnyToken(seed)};
    BeamTexts written;
    rests += CompareWithLone({}, options, /*prompt_tokens=*/18, {}, &written);
    for (const BeamText& text : written.texts) end_tokens += text.reason == FinishReason::kEndToken ? 1 : 0;
  }
  EXPECT_GT(rests, 0) << "or nothing was tested";
  EXPECT_GT(end_tokens, 0);
}

TEST(BeamRun, SoWithWindowsAndWithAFullContext) {
  const BeamRunOptions options = {.beams = {.width = 2, .expansions = 3, .delimiter = "a", .most_steps = 30},
                                  .max_step_tokens = 7, .max_tokens = 0, .sampling = AnyToken(5)};
  BeamTexts written;
  CompareWithLone({.architecture = "gemma3", .layers = 6, .context = 64, .window = 8}, options, /*prompt_tokens=*/30,
                  {.cache = {.context = 64}}, &written);
  bool any_full = false;
  for (const BeamText& text : written.texts) any_full = any_full || text.reason == FinishReason::kContextFull;
  EXPECT_TRUE(any_full);
}

// What is written beside a text has no part in it: each is what its path says, whatever the width.
TEST(BeamRun, ATextDependsOnItsPathAndTheSeedAlone) {
  const std::vector<TokenId> prompt = RandomTokens(17, 2);
  for (const auto& [width, expansions] : {std::pair(1, 2), std::pair(4, 4), std::pair(2, 8), std::pair(8, 8)}) {
    const BeamRunOptions options = {.beams = {.width = width, .expansions = expansions, .delimiter = "a", .most_steps = 4},
                                    .max_step_tokens = 5, .max_tokens = 18, .sampling = {.temperature = 1, .seed = 11}};
    const auto engine = EngineFor(LettersModel(), options);
    HashScorer scorer;
    const BeamTexts written = Must(RunBeams(*engine, prompt, scorer, options));
    LoneSearch lone(*engine, prompt, options);
    for (const BeamText& text : written.texts) {
      LoneSearch::Text alone;
      for (const int expansion : text.path) alone = lone.After(alone, expansion);
      ExpectSame(text, alone);
    }
    const BeamTexts again = Must(RunBeams(*engine, prompt, scorer, options));
    EXPECT_EQ(again.best().tokens, written.best().tokens);
  }
}

TEST(BeamRun, OneGreedyBeamIsTheTextOfGenerate) {
  for (const std::vector<std::string>& stop : std::vector<std::vector<std::string>>{{}, {"t"}, {"no such text"}}) {
    const BeamRunOptions options = {.beams = {.width = 1, .expansions = 1, .delimiter = "e"}, .max_step_tokens = 9, .max_tokens = 50,
                                    .sampling = {.temperature = 0}, .stop = stop};
    const std::vector<TokenId> prompt = RandomTokens(12, 6);
    const auto engine = EngineFor(LettersModel(), options);
    HashScorer scorer;
    const BeamTexts written = Must(RunBeams(*engine, prompt, scorer, options));
    const auto session = Must(engine->NewSession());
    Must(session->Append(prompt));
    const Generation alone = Must(Generate(*session, Must(Sampler::Create(options.sampling)), {.max_tokens = 50, .stop = stop}));
    ASSERT_EQ(written.texts.size(), 1u);
    EXPECT_EQ(written.best().tokens, alone.tokens);
    EXPECT_EQ(written.best().text, alone.text);
    EXPECT_EQ(written.best().reason, alone.reason);
  }
}

// Each token of the prompt once, and of each step what no other text has computed: its first row is the token that was chosen last.
TEST(BeamRun, NoStepIsComputedTwiceAndAStepThatHasEndedHasNoRows) {
  const BeamRunOptions options = {.beams = {.width = 4, .expansions = 4, .delimiter = "e", .most_steps = 5},
                                  .max_step_tokens = 11, .max_tokens = 60, .sampling = {.temperature = 1, .seed = 1}};
  const auto engine = EngineFor(LettersModel(), options);
  HashScorer scorer;
  const BeamTexts written = Must(RunBeams(*engine, RandomTokens(40, 3), scorer, options));
  const StepperReport& passes = written.passes;
  EXPECT_GT(written.steps, 4 * 16 - 16) << "or it ended at once";
  EXPECT_EQ(passes.prompt_rows, 40 + written.steps - 1);
  EXPECT_EQ(passes.rows, passes.prompt_rows + written.timings.output_tokens - written.steps) << "no row but one for each token";
  EXPECT_EQ(passes.preempted, 0);
  EXPECT_EQ(passes.most_texts, 16);
  EXPECT_GE(passes.shared_tokens, (written.steps - 1) * 39) << "at least the prompt";
  EXPECT_GE(passes.passes, written.least_passes);
  EXPECT_GT(written.least_passes, 5) << "a token for each";
  const BeamTexts again = Must(RunBeams(*engine, RandomTokens(40, 3), scorer, options));
  EXPECT_EQ(written.shared_tokens, 0);
  EXPECT_EQ(again.shared_tokens, 39) << "what the search before it has left";
  EXPECT_EQ(again.least_passes, written.least_passes);
}

TEST(BeamRun, WhereTheCacheIsFullTextsWaitAndAreTheSame) {
  const BeamRunOptions options = {.beams = {.width = 3, .expansions = 3, .delimiter = "e", .most_steps = 5},
                                  .max_step_tokens = 8, .max_tokens = 30, .sampling = {.temperature = 1, .seed = 4}};
  BeamTexts written;
  CompareWithLone(LettersModel(), options, /*prompt_tokens=*/33, {.cache = {.context = 64, .cache_tokens = 64}}, &written);
  EXPECT_GT(written.passes.waited + written.passes.preempted, 0);
}

TEST(BeamRun, KeptStepsNameTheirOrigin) {
  const BeamRunOptions options = {.beams = {.width = 3, .expansions = 2, .delimiter = "e", .most_steps = 4},
                                  .max_step_tokens = 6, .max_tokens = 14, .sampling = {.temperature = 1, .seed = 8}};
  const auto engine = EngineFor(LettersModel(), options);
  HashScorer scorer;
  const BeamTexts written = Must(RunBeams(*engine, RandomTokens(10, 3), scorer, options));
  // The text of each, put together from the steps that it names.
  std::vector<std::string> before = {""}, texts;
  int step = 1;
  for (const KeptStep& kept : written.kept) {
    if (kept.step != step) {
      EXPECT_EQ(kept.step, ++step);
      before.assign(1, "");
      before.insert(before.end(), texts.begin(), texts.end());
      texts.clear();
    }
    EXPECT_EQ(kept.beam, static_cast<int>(texts.size()) + 1);
    ASSERT_LT(static_cast<size_t>(kept.from), before.size());
    EXPECT_EQ(kept.from == 0, step == 1);
    texts.push_back(before[static_cast<size_t>(kept.from)] + kept.text);
    for (const BeamText& text : written.texts) {
      if (kept.ended && text.score == kept.score) {
        EXPECT_EQ(texts.back(), text.text);
      }
    }
  }
  EXPECT_GT(step, 1);
}

}  // namespace
}  // namespace tessera
