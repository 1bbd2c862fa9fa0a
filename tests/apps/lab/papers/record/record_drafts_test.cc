// What a draft says of a target's texts is recorded the same each time, and trees that are grown from it again accept what real ones did;
// texts of the recordings that are built in are recorded again.
#include "tessera/apps/lab/papers/record/record_drafts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/lab/lever/lever_models.h"
#include "tessera/apps/lab/lever/lever_prompts.h"
#include "tessera/apps/lab/lever/lever_run.h"
#include "tessera/apps/lab/papers/lever/lever_simulation.h"
#include "tessera/base/sha256.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int kTokens = 40;

std::string Samples() { return std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation"; }

// Made if it is not there.
std::string CopyOf(const std::string& model, const std::string& name) {
  const LowBitCopy copy = Must(LowBitCopyOf(model, name));
  ThreadPool pool(2);
  if (!copy.Check().ok()) Must(copy.Make(pool));
  return copy.path();
}

std::unique_ptr<LeverModels> ModelsOf(const std::string& target, const std::string& draft, int tokens, int threads = 2) {
  LeverModels::Options options = {.target = {.model_path = target}, .draft_model = draft};
  options.target.compute.threads = threads;
  options.target.cache.context = RecordLimits().most_prompt_tokens + tokens + RecordLimits::kRows;
  PlanRecording(options.target);
  return Must(LeverModels::Load(options));
}

DraftRecorder RecorderOf(LeverModels& models, int texts, int tokens) {
  const LeverEngines engines = models.engines();
  return Must(DraftRecorder::Create(*engines.target, *engines.draft, {.texts = texts, .most_tokens = tokens}));
}

// A model, and a draft of it: itself, or itself in two bits.
class RecordDrafts : public testing::Test {
 protected:
  std::unique_ptr<LeverModels> Load(bool same, int threads = 2) {
    return ModelsOf(TinyPath("llama"), same ? TinyPath("llama") : CopyOf(TinyPath("llama"), "q2"), kTokens, threads);
  }

  DraftRecording Record(LeverModels& models, int texts = 2) {
    DraftRecorder recorder = RecorderOf(models, texts, kTokens);
    DraftRecording recording = {.command = "c", .model = "m", .model_sha256 = std::string(64, 'a'), .draft = "d",
                                .draft_sha256 = std::string(64, 'b'), .most_tokens = kTokens};
    for (const PromptCategory& set : Sets()) Must(recorder.Record(set, [&] { ++written_; }, recording));
    return recording;
  }

  static std::vector<PromptCategory> Sets() { return Must(ReadLeverPrompts(Samples(), "gsm8k,mt_bench", 2)); }

  int written_ = 0;

 private:
  const TemporaryFolder folder_;
  const CacheFolderFor cache_{folder_.path()};
};

TEST_F(RecordDrafts, HeaderExample) {
  const std::unique_ptr<LeverModels> models = Load(/*same=*/false);
  const DraftRecording recording = Record(*models);
  EXPECT_EQ(written_, 4);
  ASSERT_EQ(recording.texts.size(), 4u);
  for (const DraftedText& text : recording.texts) {
    EXPECT_EQ(text.said.size() + 1, text.tokens.size()) << text.set << " " << text.id;
    EXPECT_LE(static_cast<int>(text.tokens.size()), kTokens);
    for (const TopTokens& said : text.said) EXPECT_LE(said.size(), 8u);
  }
  EXPECT_EQ(DraftRecordingText(Must(ParseDraftRecording(DraftRecordingText(recording), "r"))), DraftRecordingText(recording));
}

TEST_F(RecordDrafts, EachRunGivesTheSame) {
  const std::unique_ptr<LeverModels> models = Load(/*same=*/false), other = Load(/*same=*/false, /*threads=*/1);
  const std::string text = DraftRecordingText(Record(*models));
  EXPECT_EQ(DraftRecordingText(Record(*models)), text);
  EXPECT_EQ(DraftRecordingText(Record(*other)), text) << "another number of threads";
}

TEST_F(RecordDrafts, ADraftThatIsTheTargetIsAlwaysRightAndOneInTwoBitsIsNot) {
  const std::unique_ptr<LeverModels> same = Load(/*same=*/true), less = Load(/*same=*/false);
  const DraftRecording right = Record(*same), other = Record(*less);
  EXPECT_EQ(right.HitShare(""), 1);
  EXPECT_LT(other.HitShare(""), 1);
  ASSERT_EQ(right.texts.size(), other.texts.size());
  for (size_t i = 0; i < right.texts.size(); ++i) EXPECT_EQ(right.texts[i].tokens, other.texts[i].tokens) << "the text is the target's";
  EXPECT_GT(right.wrong.nodes, 0);
  EXPECT_GT(right.wrong.said, 0);
  EXPECT_LE(right.wrong.said, 1);
}

// The trees of the recording, and those that the draft itself grows while the target writes.
TEST_F(RecordDrafts, RegrownTreesAcceptTheTokensOfTheRealTrees) {
  const std::unique_ptr<LeverModels> models = Load(/*same=*/false);
  const DraftRecording recording = Record(*models);
  LeverOptions asked = {.systems = Must(LeverSpecs("flash_ar,chain,edgellm,specinfer", "")), .warm_up = {1, 2, 3},
                        .generate_tokens = kTokens};
  Conversation conversation = Must(Conversation::Create(models->engines().target->model().gguf(), {}));
  for (const PromptCategory& set : Sets()) {
    LeverSet& prompts = asked.sets.emplace_back(LeverSet{.name = set.name});
    for (const std::string& prompt : set.prompts) {
      conversation.Reset();
      conversation.AddUser(prompt);
      prompts.prompts.push_back(Must(conversation.Tokens(models->engines().target->tokenizer())));
    }
  }
  const LeverFindings findings = Must(MeasureLever(models->engines(), asked));
  const ProfileSet profiles = Must(BuiltInProfiles());
  KnownModels shapes;
  CosterCache costers(profiles, shapes);
  const LeverCosts costs = Must(LeverCosts::Of({.device = "8gen3", .flash = "ufs4.0", .shape = "qwen3-1.7b"}, costers));
  for (size_t system = 0; system < asked.systems.size(); ++system) {
    for (size_t set = 0; set < asked.sets.size(); ++set) {
      const std::string& name = asked.systems[system].system;
      const LeverRun again = Must(SimulateLever(costs, SetupOf(name), recording, asked.sets[set].name));
      const LeverTotals& real = findings.totals[system][set][0];
      EXPECT_EQ(again.tokens, real.tokens) << name;
      EXPECT_EQ(again.passes, real.passes) << name << " " << asked.sets[set].name;
      EXPECT_LE(again.passes, again.tokens) << name;
    }
  }
}

class DraftRecordings : public testing::TestWithParam<const char*> {};

// The prompts that tests have are the first of their files, so their texts are the first of each set.
TEST_P(DraftRecordings, ATextOfSomeSetsIsRecordedAgain) {
  const absl::StatusOr<DraftRecording> kept = BuiltInDraftRecording(GetParam());
  ASSERT_TRUE(kept.ok()) << kept.status();
  const std::string model = RealModelPath("smollm2");
  ASSERT_FALSE(model.empty()) << RealModelMissing("smollm2");
  ASSERT_EQ(Must(Sha256OfFile(model)).Hex(), kept->model_sha256);
  ASSERT_TRUE(absl::StartsWith(kept->draft, "self:")) << "a draft that any machine can make: " << kept->draft;
  const std::unique_ptr<LeverModels> models = ModelsOf(model, CopyOf(model, kept->draft.substr(5)), kept->most_tokens);
  DraftRecorder recorder = RecorderOf(*models, /*texts=*/1, kept->most_tokens);
  std::vector<PromptCategory> sets = Must(ReadLeverPrompts(Samples(), "gsm8k,mt_bench", 1));
  sets.resize(static_cast<size_t>(Fewer(2, 1)));
  for (const PromptCategory& set : sets) {
    DraftRecording again = *kept, expected = *kept;
    again.texts.clear();
    Must(recorder.Record(set, [] {}, again));
    again.wrong = kept->wrong;   // That is about all texts.
    std::erase_if(expected.texts, [&](const DraftedText& text) { return text.set != set.name; });
    ASSERT_FALSE(expected.texts.empty()) << set.name;
    expected.texts.resize(1);
    EXPECT_EQ(DraftRecordingText(again), DraftRecordingText(expected)) << set.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kept, DraftRecordings, testing::Values("near", "far"), [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera
