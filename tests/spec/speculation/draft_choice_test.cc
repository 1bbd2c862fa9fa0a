#include "tessera/spec/speculation/draft_choice.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(DraftChoice, HeaderExample) {
  CostProfile costs;
  DraftChoiceInputs inputs = {.flash_bytes_per_second = 2.1e9, .memory_bytes_per_second = 20e9, .weight_bytes = 2.3e9,
                              .row_seconds = 0.05, .draft_token_seconds = 0.006,
                              .with_draft = {.pass_bytes = 1'900'000'000, .ring_bytes = 130'000'000},
                              .with_pins = {.pass_bytes = 1'800'000'000, .ring_bytes = 130'000'000}};
  UseProfile(costs, "draft", inputs);
  const DraftChoice choice = ChooseDraft(inputs);
  EXPECT_TRUE(choice.drafts);
  EXPECT_NEAR(choice.of(MemoryUse::kPins).tokens_per_second, 2.1 / 1.8, 1e-9);
  EXPECT_GT(choice.of(MemoryUse::kBoth).tokens_per_second, 2.5 * choice.of(MemoryUse::kPins).tokens_per_second);
}

// A pass reads for a second with the draft, and for 0.8 with pins; a row computes for 0.1, a token of the draft for 0.05.
DraftChoiceInputs Streamed() {
  return {.flash_bytes_per_second = 1e9, .memory_bytes_per_second = 1e12, .weight_bytes = 1.2e9, .row_seconds = 0.1,
          .draft_token_seconds = 0.05,
          .with_draft = {.pass_bytes = 1'000'000'000, .ring_bytes = 200'000'000},
          .with_pins = {.pass_bytes = 800'000'000, .ring_bytes = 200'000'000},
          .draft = {.value = 0.5}, .retrieval = {.value = 0.25}, .most_rows = 4};
}

TEST(DraftChoice, DraftingIsHiddenByReadingAsFarAsTheRingHasRoom) {
  DraftChoiceInputs inputs = Streamed();
  const PredictedUse hidden = ChooseDraft(inputs).of(MemoryUse::kDraft);
  EXPECT_NEAR(hidden.tokens_per_second, (1 + 0.5 + 0.25 + 0.125) / 1.0, 1e-9);
  EXPECT_NEAR(hidden.tokens, 1.875, 1e-9);
  EXPECT_EQ(hidden.rows, 4);
  inputs.with_draft.ring_bytes = 0;
  EXPECT_NEAR(ChooseDraft(inputs).of(MemoryUse::kDraft).tokens_per_second, 1.875 / (3 * 0.05 + 1.0), 1e-9);
  inputs.draft_token_seconds = 1;   // Then nothing is drafted.
  EXPECT_EQ(ChooseDraft(inputs).of(MemoryUse::kDraft).rows, 1);
  EXPECT_NEAR(ChooseDraft(inputs).of(MemoryUse::kDraft).tokens_per_second, 1, 1e-9);
}

TEST(DraftChoice, PinsMakePassesShorterAndTheTextGivesSomethingToGuess) {
  const DraftChoice choice = ChooseDraft(Streamed());
  EXPECT_NEAR(choice.of(MemoryUse::kPins).tokens_per_second, 1 / 0.8, 1e-9);
  EXPECT_EQ(choice.of(MemoryUse::kPins).rows, 1);
  EXPECT_NEAR(choice.of(MemoryUse::kRetrieval).tokens_per_second, (1 + 0.25 + 0.0625 + 0.015625) / 0.8, 1e-9);
  EXPECT_NEAR(choice.of(MemoryUse::kBoth).tokens_per_second, 1.875, 1e-9) << "the draft is the better of the two";
  EXPECT_TRUE(choice.drafts);
}

TEST(DraftChoice, WhereNothingIsGuessedThereIsARowPerTextWhateverTheSpeeds) {
  SeededRandom random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    DraftChoiceInputs inputs = Streamed();
    inputs.flash_bytes_per_second = 1e6 * static_cast<double>(1 + random.Below(10'000'000));
    inputs.with_pins.pass_bytes = 1 + random.Below(1'000'000'000);
    inputs.row_seconds = 1e-12;
    inputs.texts = 1 + trial % 3;
    ASSERT_EQ(ChooseDraft(inputs).of(MemoryUse::kPins).rows, inputs.texts) << trial;
  }
}

// In memory a pass takes 0.15 seconds, two rows 0.2, three 0.3.
TEST(DraftChoice, WhereAllFitsADraftThatIsNotAskedCostsNothing) {
  DraftChoiceInputs inputs = Streamed();
  inputs.memory_bytes_per_second = 8e9;
  inputs.with_draft.pass_bytes = inputs.with_pins.pass_bytes = 0;
  inputs.retrieval.value = 0.5;
  const DraftChoice choice = ChooseDraft(inputs);
  EXPECT_NEAR(choice.of(MemoryUse::kDraft).tokens_per_second, 1 / 0.15, 1e-9) << "1.5 / 0.25 is less";
  EXPECT_NEAR(choice.of(MemoryUse::kRetrieval).tokens_per_second, 1.5 / 0.2, 1e-9);
  EXPECT_NEAR(choice.of(MemoryUse::kBoth).tokens_per_second, 1.5 / 0.2, 1e-9);
  EXPECT_TRUE(choice.drafts) << "both are as fast";
}

TEST(DraftChoice, ADraftInPlaceOfAllThatIsReadDoesNotPay) {
  DraftChoiceInputs inputs = Streamed();
  inputs.with_pins.pass_bytes = 0;
  const DraftChoice choice = ChooseDraft(inputs);
  EXPECT_GT(choice.of(MemoryUse::kRetrieval).tokens_per_second, 9);
  EXPECT_FALSE(choice.drafts);
}

// Three texts read for as long as one. Each row of each computes for 0.1, each guess of each is drafted in 0.05.
TEST(DraftChoice, SeveralTextsShareTheReadingAndLeaveLessTimeForGuesses) {
  DraftChoiceInputs inputs = Streamed();
  inputs.texts = 3;
  const DraftChoice three = ChooseDraft(inputs);
  EXPECT_NEAR(three.of(MemoryUse::kPins).tokens_per_second, 3 / 0.8, 1e-9) << "three tokens per pass";
  EXPECT_EQ(three.of(MemoryUse::kPins).rows, 3);
  // Two rows of each: the reading hides 0.6 of computing behind 0.15 of drafting. Three would compute for 0.9 and draft for 0.3.
  EXPECT_NEAR(three.of(MemoryUse::kDraft).tokens_per_second, 3 * 1.5 / 1.0, 1e-9);
  EXPECT_NEAR(three.of(MemoryUse::kDraft).tokens, 4.5, 1e-9);
  EXPECT_EQ(three.of(MemoryUse::kDraft).rows, 6);
  EXPECT_NEAR(three.of(MemoryUse::kRetrieval).tokens_per_second, 3 * 1.25 / 0.8, 1e-9);
  EXPECT_TRUE(ChooseDraft(Streamed()).drafts);
  EXPECT_FALSE(three.drafts) << "what pays for one text";
  inputs.texts = 10;   // Their rows alone compute for as long as a pass reads.
  const DraftChoice ten = ChooseDraft(inputs);
  EXPECT_EQ(ten.of(MemoryUse::kDraft).rows, 10) << "nothing is guessed";
  EXPECT_NEAR(ten.of(MemoryUse::kDraft).tokens_per_second, 10 / 1.0, 1e-9);
  EXPECT_NEAR(ten.of(MemoryUse::kRetrieval).tokens_per_second, 10 / 1.0, 1e-9);
}

TEST(DraftChoice, TheTimeOfAPassOfSeveralTextsComesFromTheProfile) {
  CostProfile costs;
  for (int time = 0; time < 4; ++time) {
    costs.AddPass({.rows = 1}, 0.04);
    costs.AddPass({.rows = 4, .leaves = 4, .texts = 4}, 0.06);
    costs.AddHead(1, 0.01);
    costs.AddHead(4, 0.02);
  }
  DraftChoiceInputs inputs = Streamed();
  inputs.texts = 4;
  inputs.most_rows = 1;
  inputs.with_pins.pass_bytes = 0;
  UseProfile(costs, "draft", inputs);
  EXPECT_NEAR(ChooseDraft(inputs).of(MemoryUse::kPins).tokens_per_second, 4 / 0.08, 1) << "products of four rows would take 0.4";
}

TEST(DraftChoice, AChanceGivesBackTheTokensOfItsMeasurement) {
  for (const double chance : {0.05, 0.45, 0.65, 0.99}) {
    double tokens = 0, reached = 1;
    for (int row = 0; row < 6; ++row, reached *= chance) tokens += reached;
    const GuessChance found = ChanceOf({.tokens = tokens, .rows = 6});
    EXPECT_NEAR(found.value, chance, 1e-9);
    EXPECT_TRUE(found.is_measured);
  }
  EXPECT_NEAR(ChanceOf({.tokens = 1.25, .rows = 1.5}).value, 0.5, 1e-9) << "half a guess per pass, half of which come true";
}

TEST(DraftChoice, AProfileSuppliesTheMeasurementsOfEarlierRuns) {
  CostProfile costs;
  costs.AddPass({.rows = 1}, 0.04);
  costs.AddHead(1, 0.01);
  costs.AddDraft("draft", 0.3);
  costs.SetYield("draft", {.tokens = 2.5, .rows = 4});
  costs.SetYield("suffix", {.tokens = 1.5, .rows = 3});
  costs.SetYield("lookup", {.tokens = 1.1, .rows = 3});
  DraftChoiceInputs inputs = Streamed();
  UseProfile(costs, "draft", inputs);
  EXPECT_NEAR(inputs.draft_token_seconds, 0.1, 1e-9);
  EXPECT_TRUE(inputs.is_draft_measured && inputs.draft.is_measured && inputs.retrieval.is_measured);
  EXPECT_NEAR(inputs.draft.value, ChanceOf({.tokens = 2.5, .rows = 4}).value, 1e-12);
  EXPECT_NEAR(inputs.retrieval.value, ChanceOf({.tokens = 1.5, .rows = 3}).value, 1e-12) << "the best drafter's";
  inputs.with_pins.pass_bytes = 0;
  EXPECT_NEAR(ChooseDraft(inputs).of(MemoryUse::kPins).tokens_per_second, 1 / 0.05, 1e-9) << "a pass took no longer";
  DraftChoiceInputs other = Streamed();
  UseProfile(costs, "eagle", other);
  EXPECT_EQ(other.draft.value, 0.5);
  EXPECT_FALSE(other.draft.is_measured || other.is_draft_measured);
}

TEST(DraftChoice, MorePinsAreNeverSlowerAndABetterDraftNeverIs) {
  SeededRandom random(5);
  const auto some = [&](double most) { return most * static_cast<double>(1 + random.Below(1000)) / 1000; };
  for (int trial = 0; trial < 500; ++trial) {
    DraftChoiceInputs inputs = Streamed();
    inputs.flash_bytes_per_second = some(4e9);
    inputs.row_seconds = some(0.3);
    inputs.draft_token_seconds = some(0.2);
    inputs.draft.value = some(0.9);
    const DraftChoice before = ChooseDraft(inputs);
    inputs.with_pins.pass_bytes /= 2;
    inputs.draft.value = inputs.draft.value / 2 + 0.5;
    const DraftChoice after = ChooseDraft(inputs);
    for (const MemoryUse use : kMemoryUses) {
      EXPECT_GE(after.of(use).tokens_per_second, before.of(use).tokens_per_second * (1 - 1e-12)) << MemoryUseName(use);
    }
    EXPECT_GE(before.of(MemoryUse::kBoth).tokens_per_second, before.of(MemoryUse::kDraft).tokens_per_second);
    EXPECT_GE(before.of(MemoryUse::kRetrieval).tokens_per_second, before.of(MemoryUse::kPins).tokens_per_second);
  }
}

TEST(DraftChoice, UsesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const MemoryUse use : kMemoryUses) names.insert(std::string(MemoryUseName(use)));
  EXPECT_EQ(names.size(), kMemoryUses.size());
  EXPECT_EQ(names.count("unknown"), 0u);
}

}  // namespace
}  // namespace tessera
