// Systems on the clock with drafts that are made up: what is accepted, what takes how long, and what must not be slower than what.
#include "tessera/apps/lab/papers/lever/lever_simulation.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/tests/fakes/made_up_drafts.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const LeverCosts& Costs() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  static KnownModels models;
  static CosterCache costers(profiles, models);
  static const LeverCosts costs = Must(LeverCosts::Of({.device = "8gen3", .flash = "ufs4.0", .shape = "qwen3-8b"}, costers));
  return costs;
}

const DraftRecording& Near() {
  static const DraftRecording near = MadeUpDraft({.likeliest = 0.75f});
  return near;
}

LeverRun RunOf(const LeverSetup& setup, const char* set = "gsm8k", const DraftRecording& recording = Near()) {
  return Must(SimulateLever(Costs(), setup, recording, set));
}
LeverRun RunOf(const char* system, const char* set = "gsm8k") { return RunOf(SetupOf(system), set); }

// All guesses come true.
DraftRecording Perfect() {
  DraftRecording recording = MadeUpDraft({});
  for (DraftedText& text : recording.texts) {
    for (size_t i = 0; i < text.said.size(); ++i) text.said[i] = {{text.tokens[i + 1], 0.95f}};
  }
  return recording;
}

TEST(LeverSimulation, HeaderExample) {
  const LeverSetup lever = SetupOf("lever");
  const LeverRun run = Must(SimulateLever(Costs(), lever, Near(), "gsm8k"));
  EXPECT_EQ(run.texts, 2);
  EXPECT_EQ(run.tokens, 2 * 59) << "the prompt's own pass gives the first of each text";
  EXPECT_GT(run.tokens_per_second(), 0);
  EXPECT_GT(run.tokens_per_pass(), 1);
  EXPECT_GT(run.rows_per_pass(), run.tokens_per_pass());
}

TEST(LeverSimulation, WithoutADraftEachPassReadsAllLayersForOneToken) {
  const LeverRun run = RunOf("flash_ar");
  EXPECT_EQ(run.passes, run.tokens);
  EXPECT_EQ(run.rows, run.tokens);
  EXPECT_EQ(run.draft_seconds, 0);
  EXPECT_NEAR(run.seconds / static_cast<double>(run.passes), Costs().layers() * Costs().read_seconds(), 0.02 * Costs().layers() * 0.03)
      << "computing is hidden";
}

TEST(LeverSimulation, AChainWhoseGuessesComeTrueGivesNineTokensPerPass) {
  const DraftRecording perfect = Perfect();
  const LeverRun run = RunOf(SetupOf("chain"), "mbpp", perfect);
  EXPECT_EQ(run.passes, 2 * 7) << "59 tokens, by nines";
  EXPECT_EQ(run.reached, run.tokens);
}

TEST(LeverSimulation, LeverIsAtLeastAsFastAsAChainAndThatAsNoDraft) {
  for (const float likeliest : {0.3f, 0.55f, 0.8f, 0.95f}) {
    const DraftRecording recording = MadeUpDraft({.likeliest = likeliest, .seed = 7, .texts = 4});
    const double plain = RunOf(SetupOf("flash_ar"), "mbpp", recording).tokens_per_second();
    const double chain = RunOf(SetupOf("chain"), "mbpp", recording).tokens_per_second();
    const double lever = RunOf(SetupOf("lever"), "mbpp", recording).tokens_per_second();
    EXPECT_GE(chain, plain) << likeliest;
    EXPECT_GE(lever, chain) << likeliest;
  }
}

TEST(LeverSimulation, TimeIsThatOfItsPartsAndOfPasses) {
  for (const char* system : {"flash_ar", "chain", "edgellm", "lever", "specinfer", "opt_tree", "retrieval"}) {
    const LeverRun run = RunOf(system);
    EXPECT_GT(run.seconds, run.draft_seconds + run.head_seconds) << system;
    const LeverSetup setup = SetupOf(system);
    EXPECT_NEAR(run.head_seconds, run.head_by_way[static_cast<size_t>(setup.head)], 1e-9) << system;
    if (!setup.tree.empty()) {
      EXPECT_NEAR(run.draft_seconds, run.draft_by_way[static_cast<size_t>(setup.drafting)], 1e-9) << system;
    }
    EXPECT_EQ(run.reached, run.tokens) << system;
    EXPECT_STRNE(LeverSystemName(system), "");
  }
}

TEST(LeverSimulation, PassesOfRetrievalAreTheRecordedPasses) {
  const LeverRun run = RunOf("retrieval");
  int64_t passes = 0, rows = 0;
  for (const DraftedText& text : Near().texts) {
    if (text.set != "gsm8k") continue;
    for (const RecordedPass& pass : text.retrieval) rows += 1 + pass.drafted;
    passes += static_cast<int64_t>(text.retrieval.size());
  }
  EXPECT_EQ(run.passes, passes);
  EXPECT_EQ(run.rows, rows);
  EXPECT_NEAR(run.draft_seconds, static_cast<double>(passes) * Costs().drafter_seconds(), 1e-9);
}

TEST(LeverSimulation, MorePinnedLayersAreNeverSlower) {
  for (const char* system : {"flash_ar", "chain", "lever"}) {
    double before = 0;
    for (const double pinned : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
      LeverSetup setup = SetupOf(system);
      setup.pinned = pinned;
      const double speed = RunOf(setup).tokens_per_second();
      EXPECT_GE(speed, before) << system << " " << pinned;
      before = speed;
    }
  }
}

TEST(LeverSimulation, LongerTextsTakeMorePerTokenWhereComputingDominates) {
  const DraftRecording longer = MadeUpDraft({.texts = 1, .tokens = 512});
  double before = 1e9;
  for (const int length : {32, 128, 512}) {
    LeverSetup setup = SetupOf("flash_ar");
    setup.pinned = 1;
    setup.most_tokens = length;
    const LeverRun run = RunOf(setup, "gsm8k", longer);
    EXPECT_EQ(run.tokens, length - 1);
    EXPECT_LT(run.tokens_per_second(), before) << length;
    before = run.tokens_per_second();
  }
}

TEST(LeverSimulation, ATextIsCutButItsPrefixIsTheSame) {
  LeverSetup setup = SetupOf("chain");
  setup.most_tokens = 1;
  const LeverRun none = RunOf(setup);
  EXPECT_EQ(none.passes, 0);
  EXPECT_EQ(none.tokens_per_pass(), 1);
  setup.most_tokens = 1000;
  EXPECT_EQ(RunOf(setup).tokens, RunOf("chain").tokens) << "no text has so many";
}

TEST(LeverSimulation, SaysTheSameToTheDigit) {
  const LeverRun a = RunOf("lever"), b = RunOf("lever");
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.rows, b.rows);
}

TEST(LeverSimulation, SumsAddUp) {
  LeverRun sum = RunOf("chain", "gsm8k");
  const LeverRun other = RunOf("chain", "mbpp");
  const int64_t tokens = sum.tokens + other.tokens;
  const double heads = sum.head_by_way[1] + other.head_by_way[1];
  sum += other;
  EXPECT_EQ(sum.tokens, tokens);
  EXPECT_EQ(sum.texts, 4);
  EXPECT_EQ(sum.head_by_way[1], heads);
}

TEST(LeverSimulation, BadSetupsAndSetsThatAreNotThereAreErrors) {
  LeverSetup setup = SetupOf("lever");
  setup.pinned = 1.5;
  EXPECT_EQ(SimulateLever(Costs(), setup, Near(), "gsm8k").status().message(), "lever: pinned: found 1.5, expected a share, 0 to 1");
  setup = SetupOf("lever");
  setup.most_tokens = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(SimulateLever(Costs(), setup, Near(), "gsm8k").status()));
  setup = SetupOf("lever");
  setup.tree = "oak";
  EXPECT_TRUE(absl::IsInvalidArgument(SimulateLever(Costs(), setup, Near(), "gsm8k").status()));
  const absl::Status missing = SimulateLever(Costs(), SetupOf("lever"), Near(), "poems").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing));
  EXPECT_EQ(missing.message(), "recording of none.gguf: found no text of poems, expected some");
}

}  // namespace
}  // namespace tessera
