// --draft_model under --memory_budget: what it takes, what pins in its place would give, and when --speculate=auto leaves it out.
#include "tessera/apps/plan/draft_or_pins.h"

#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/draft_runs.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// 30 MiB of weights, on a flash that takes 1.5 seconds for them, and a draft of one small layer.
class DraftOrPins : public DraftRuns {
 protected:
  DraftOrPins() {
    TinyModelBuilder({.layers = 1, .context = 256, .writes_letters = true, .seed = 2}).WriteTo(small_);
    std::ofstream(flash_) << "name: \"slow\" speed { block_bytes: 4194304 depth: 1 megabytes_per_second: 20 source: \"test\" }";
  }
  static const PackedModel& Target() {
    static const PackedModel packed(
        TinyModelBuilder({.width = 256, .feed_forward = 1024, .layers = 36, .context = 256, .writes_letters = true}));
    return packed;
  }
  Flags Answer() const {
    return {"--model=" + Target().path(), "--threads=1", "--raw", "--prompt=abc", "--n_predict=3", "--temperature=0", "--context=256",
            "--flash=" + flash_};
  }
  JsonValue Plan(const Flags& flags, int64_t budget) const {
    const Ended ended =
        RunProgram("tessera_generate", Answer() + flags + Flags{"--dry_run", "--json", absl::StrCat("--memory_budget=", budget)});
    CHECK_EQ(ended.code, 0) << ended.errors;
    return Json(ended.output);
  }
  // With which all weights stay in memory, and that leaves no room for a draft. What a process has differs a little from run to run.
  int64_t BudgetForAll() const {
    const JsonValue forecasts = *Plan({}, 1024 * kMiB).Object("memory_budget")->Array("forecasts");
    return *forecasts[forecasts.size() - 1].Int("budget") + kMiB;
  }
  // With which the small draft and all other drafters have room, and hardly a layer.
  int64_t BudgetForDraft() const {
    return LeastBudget(Answer() + with_small_ + Flags{"--speculate=draft,lookup,suffix,recycling,calibrated,reuse"});
  }
  static double Predicted(const JsonValue& plan, const std::string& use) {
    return *plan.Object("speculation")->Object("predicted")->Object(use)->Double("tokens_per_second");
  }

  const std::string small_ = folder_.Path("small.gguf"), flash_ = folder_.Path("flash");
  const Flags with_small_ = {"--draft_model=" + small_};
};

TEST_F(DraftOrPins, HeaderExample) {
  EngineOptions options = {.model_path = Target().path(), .compute = {.threads = 1}, .cache = {.context = 256}};
  options.streaming = {.memory_budget = 1024 * kMiB, .flash = flash_};
  FLAGS_draft_model = small_;
  const auto draft = Must(DraftModelOfFlags(FLAGS_speculate, /*chooses=*/true));
  Must(PlanSpeculation(SpeculationOfFlags(draft), options));
  draft->CountIn(options);
  const auto engine = Must(Engine::Open(options));
  const DraftUse use = Must(DraftUse::Settle(*engine, *draft, draft->Open(*engine)));
  EXPECT_TRUE(use.drafts) << "there is room for all";
  EXPECT_TRUE(absl::StrContains(use.Line(), "speculation: draft model, drafts from the text, about ")) << use.Line();
}

TEST_F(DraftOrPins, ADraftThatTakesTheRoomOfFewLayersIsKept) {
  const JsonValue plan = Plan(with_small_, BudgetForDraft());
  const JsonValue speculation = *plan.Object("speculation");
  EXPECT_EQ(*speculation.String("chosen"), "both");
  EXPECT_FALSE(*speculation.Bool("by_name"));
  EXPECT_GT(Predicted(plan, "draft"), 1.1 * Predicted(plan, "retrieval"));
  EXPECT_GT(Predicted(plan, "retrieval"), Predicted(plan, "pins"));
  EXPECT_GE(Predicted(plan, "both"), Predicted(plan, "draft"));
  EXPECT_GT(*speculation.Int("pinned_bytes_without_draft"), *speculation.Int("pinned_bytes") + kMiB);
  EXPECT_FALSE(*speculation.Object("chances")->Object("draft")->Bool("measured"));
  EXPECT_GT(*plan.Object("memory_bytes")->Int("draft_model"), 0);
}

TEST_F(DraftOrPins, ADraftIsLeftOutWhereAllWeightsWouldFitWithoutTheDraftUnlessNamed) {
  const int64_t budget = BudgetForAll();
  const JsonValue plan = Plan(with_small_, budget), named = Plan(with_small_ + Flags{"--speculate=draft"}, budget);
  EXPECT_EQ(*plan.Object("speculation")->String("chosen"), "retrieval");
  EXPECT_GT(Predicted(plan, "retrieval"), Predicted(plan, "both"));
  EXPECT_EQ(*plan.Object("draft_model_bytes")->Int("weights"), 0);
  EXPECT_EQ(*named.Object("speculation")->String("chosen"), "draft");
  EXPECT_TRUE(*named.Object("speculation")->Bool("by_name"));
  EXPECT_GT(*named.Object("draft_model_bytes")->Int("weights"), 0);
  const Flags shown = {"--dry_run", absl::StrCat("--memory_budget=", budget)};
  const Ended text = RunProgram("tessera_generate", Answer() + with_small_ + shown);
  for (const char* line : {"draft model, drafts from the text", "chosen: more pins, drafts from the text", "(assumed)", "left out"}) {
    EXPECT_TRUE(absl::StrContains(text.output, line)) << line << "\n" << text.output << text.errors;
  }
}

// Three answers share the reading, so each pass gives three tokens at least.
TEST_F(DraftOrPins, ThePredictionIsOfAsManyTextsAsAreWrittenAtOnce) {
  const Flags answers = with_small_ + Flags{"--answers=3", "--temperature=0.8"};
  const JsonValue one = *Plan(with_small_, 64 * kMiB).Object("speculation"), three = *Plan(answers, 64 * kMiB).Object("speculation");
  EXPECT_EQ(*one.Int("texts"), 1);
  EXPECT_EQ(*three.Int("texts"), 3);
  const auto pins = [](const JsonValue& speculation) { return *speculation.Object("predicted")->Object("pins"); };
  EXPECT_EQ(*pins(one).Int("rows"), 1);
  EXPECT_EQ(*pins(three).Int("rows"), 3);
  EXPECT_EQ(*pins(three).Double("tokens_per_pass"), 3);
}

TEST_F(DraftOrPins, ARunSaysThatTheDraftIsLeftOutAndWritesTheSameText) {
  const Flags answer = Answer() + Flags{absl::StrCat("--memory_budget=", BudgetForAll())};
  const std::string plain = RunProgram("tessera_generate", answer + Flags{"--speculate=none"}).output;
  const Ended text = RunProgram("tessera_generate", answer + with_small_);
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_EQ(text.output, plain);
  EXPECT_TRUE(absl::StrContains(text.errors, "speculation: the draft model is left out, so ")) << text.errors;
  EXPECT_TRUE(absl::StrContains(text.errors, "; --speculate=draft has it all the same\n")) << text.errors;
  const JsonValue json = Json(RunProgram("tessera_generate", answer + with_small_ + Flags{"--json"}).output);
  EXPECT_EQ(*json.Object("speculation")->String("chosen"), "retrieval");
  const JsonValue drafters = *json.Object("timings")->Object("speculation")->Array("drafters");
  for (int64_t i = 0; i < drafters.size(); ++i) EXPECT_NE(*drafters[i].String("name"), "draft");
}

// The draft is the target itself, unpacked.
TEST_F(DraftOrPins, ADraftThatIsTooLargeIsAnErrorOrLeftOutWithAWarning) {
  const Flags large = {"--draft_model=" + Target().gguf()};
  const Flags answer = Answer() + Flags{"--flash=ufs4.0", absl::StrCat("--memory_budget=", LeastBudget(Answer()) + 8 * kMiB)};
  const Ended named = RunProgram("tessera_generate", answer + large + Flags{"--speculate=draft"});
  EXPECT_EQ(named.code, 2) << named.errors;
  EXPECT_TRUE(absl::StrContains(named.errors, ", and the draft model (" + Target().gguf() + ") ")) << named.errors;
  const Ended left_out = RunProgram("tessera_generate", answer + large + Flags{"--n_predict=2"});
  EXPECT_EQ(left_out.code, 0) << left_out.errors;
  EXPECT_TRUE(absl::StrContains(left_out.errors, "speculation: the draft model is left out: ")) << left_out.errors;
  EXPECT_TRUE(absl::StrContains(left_out.errors, "(--speculate=draft makes that an error)\n")) << left_out.errors;
  const Ended plain = RunProgram("tessera_generate", answer + Flags{"--n_predict=2", "--speculate=none"});
  EXPECT_EQ(left_out.output, plain.output);
  EXPECT_GT(LeastBudget(Answer() + large + Flags{"--speculate=draft"}), LeastBudget(Answer() + large) + 15 * kMiB)
      << "without the draft less is enough";
}

TEST_F(DraftOrPins, ACopyThatThereIsNoRoomToMakeIsAnErrorOrLeftOutWithAWarning) {
  const Flags copy = {"--draft_model=self:q3:" + TinyPath("llama")};
  const PackedModel packed(TinyPath("llama"));
  const Flags model = {"--model=" + packed.path(), "--threads=1", "--prompt=the in re", "--n_predict=4", "--temperature=0",
                       "--context=256"};
  const Flags answer = model + Flags{absl::StrCat("--memory_budget=", LeastBudget(model) + kMiB)};
  ExpectError("tessera_generate", answer + copy + Flags{"--speculate=draft"}, 2, "or a run without --memory_budget before, which makes it");
  const Ended left_out = RunProgram("tessera_generate", answer + copy);
  EXPECT_EQ(left_out.code, 0) << left_out.errors;
  EXPECT_TRUE(absl::StrContains(left_out.errors, "the draft model is left out: ")) << left_out.errors;
}

TEST_F(DraftOrPins, MeasurementsOfEarlierRunsAreUsed) {
  const std::string path = folder_.Path("measured.json");
  CostProfile costs;
  costs.AddPass({}, 100);
  costs.AddHead(1, 1);
  costs.AddDraft("draft", 0.003);
  costs.SetYield("draft", {.tokens = 1.1, .rows = 4});
  Must(costs.Save(path));
  const JsonValue plan = Plan(with_small_ + Flags{"--cost_profile=" + path}, BudgetForDraft()), speculation = *plan.Object("speculation");
  EXPECT_TRUE(*speculation.Object("chances")->Object("draft")->Bool("measured"));
  EXPECT_LT(*speculation.Object("chances")->Object("draft")->Double("value"), 0.1);
  EXPECT_FALSE(*speculation.Object("chances")->Object("retrieval")->Bool("measured"));
  EXPECT_NEAR(*speculation.Double("draft_token_seconds"), 0.001, 1e-6);
  EXPECT_EQ(*speculation.String("chosen"), "retrieval") << "hardly a guess of it comes true";
}

TEST_F(DraftOrPins, ARunSavesItsMeasurementsForTheNext) {
  const std::string path = folder_.Path("new.json");
  Generate({Draft(), "--speculate=draft", "--tree=chain:tokens=2", "--prompt=a a a", "--n_predict=40", "--temperature=0",
            "--cost_profile=" + path});
  const auto yield = Must(CostProfile::Load(path)).YieldOf("draft");
  ASSERT_TRUE(yield.has_value());
  EXPECT_GE(yield->rows, yield->tokens);
  EXPECT_GE(yield->tokens, 1);
}

TEST_F(DraftOrPins, WithoutABudgetThereIsNothingToChoose) {
  const JsonValue json = Json(Generate({Draft(), "--prompt=the", "--n_predict=3", "--json"}).output);
  EXPECT_EQ(*json.Object("speculation")->String("chosen"), "both");
  EXPECT_TRUE(json.Object("speculation")->Value("predicted")->is_null());
}

TEST_F(DraftOrPins, AMemoryBudgetCountsTheDraftAndItsErrorSaysSo) {
  const PackedModel packed(TinyPath("llama"));
  const Flags answer = {"--model=" + packed.path(), "--threads=1", "--prompt=the in re", "--n_predict=12", "--temperature=0",
                        "--context=256", "--flash=ufs4.0"};
  const Flags without = answer + Flags{"--speculate=none"}, with = answer + Flags{"--speculate=draft", Draft()};
  const std::string part = ", and the draft model (" + TinyPath("llama") + ") ";
  for (const Flags& flags : {without, with}) {
    const Ended refused = RunProgram("tessera_generate", flags + Flags{"--memory_budget=1"});
    EXPECT_EQ(absl::StrContains(refused.errors, part), flags.size() > without.size()) << refused.errors;
  }
  const int64_t plain = LeastBudget(without), drafted = LeastBudget(with);
  EXPECT_GT(drafted, plain);
  const Ended text = RunProgram("tessera_generate", without + Flags{absl::StrCat("--memory_budget=", plain)});
  const Ended same = RunProgram("tessera_generate", with + Flags{absl::StrCat("--memory_budget=", drafted)});
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_EQ(same.code, 0) << same.errors;
  EXPECT_EQ(same.output, text.output);
}

}  // namespace
}  // namespace tessera
