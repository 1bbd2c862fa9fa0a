// What a draft says of a target's texts is recorded the same each time, and trees that are grown from it again accept what real ones did.
#include "tessera/apps/reproduce/record_drafts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/apps/bench/lever_models.h"
#include "tessera/apps/bench/lever_prompts.h"
#include "tessera/apps/bench/lever_run.h"
#include "tessera/apps/cli/low_bit_copy.h"
#include "tessera/apps/reproduce/lever_simulation.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/tests/apps/run_program.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int kTokens = 40;

std::string Samples() { return std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation"; }

// A model, and a draft of it: itself, or itself in two bits.
class RecordDrafts : public testing::Test {
 protected:
  std::unique_ptr<LeverModels> Load(bool same, int threads = 2) {
    LeverModels::Options options = {.target = {.model_path = TinyPath("llama")}, .draft_model = same ? TinyPath("llama") : InTwoBits()};
    options.target.compute.threads = threads;
    options.target.cache.context = RecordLimits().most_prompt_tokens + kTokens + RecordLimits::kRows;
    PlanRecording(options.target);
    return Must(LeverModels::Load(options));
  }

  DraftRecording Record(LeverModels& models, int texts = 2) {
    const LeverEngines engines = models.engines();
    DraftRecorder recorder = Must(DraftRecorder::Create(*engines.target, *engines.draft, {.texts = texts, .most_tokens = kTokens}));
    DraftRecording recording = {.command = "c", .model = "m", .model_sha256 = std::string(64, 'a'), .draft = "d",
                                .draft_sha256 = std::string(64, 'b'), .most_tokens = kTokens};
    for (const PromptCategory& set : Sets()) Must(recorder.Record(set, [&] { ++written_; }, recording));
    return recording;
  }

  static std::vector<PromptCategory> Sets() { return Must(ReadLeverPrompts(Samples(), "gsm8k,mt_bench", 2)); }

  int written_ = 0;

 private:
  std::string InTwoBits() {
    const LowBitCopy copy = Must(LowBitCopy::Of(TinyPath("llama"), "q2"));
    ThreadPool pool(1);
    if (!copy.Check().ok()) Must(copy.Make(pool));
    return copy.path();
  }

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
TEST_F(RecordDrafts, TreesThatAreGrownAgainAcceptWhatTheRealOnesDid) {
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

}  // namespace
}  // namespace tessera
