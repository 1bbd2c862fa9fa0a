// Records a drafter's passes while a model writes: the same passes at every run and on every machine.
//
//   PlanRecording(options);                                                                  // before the engine is made
//   ASSIGN_OR_RETURN(const std::vector<PromptCategory> tasks, ReadTasks("tests/data/speculation", "summary,ui"));
//   ASSIGN_OR_RETURN(TextRecorder recorder, TextRecorder::Create(*engine, "sam+ours", {.texts = 12}));
//   for (const PromptCategory& task : tasks) {
//     ASSIGN_OR_RETURN(const std::vector<WrittenAnswer> answers, recorder.Record(task));
//     for (const WrittenAnswer& answer : answers) recording.texts.push_back(answer.text);
//   }
//
// The drafters are those of sd.npu's table of acceptance ratios:
//
//   lookup        Prompt lookup by its authors' rule (bench/published_baselines.h): at most 3 tokens looked up, 10 drafted, from the text.
//   sam           SAM decoding without another drafter, by its authors' rule: one path of at most 1 + 4 tokens for each that matched, from
//                 the text or the earlier answers of the same task.
//   lookup+ours,  The same with CalibratedTree, which has what the model says after every token of the prompt, and with DraftReuse, merged
//   sam+ours      by a CompositeDrafter.
//
// Passes are as on a graph of 32 rows, whose time is the same for any number of rows in use. So every draft is verified, up to 31 tokens,
// and no time and no costs have an influence. Once a text is complete, the rejected drafts are classified by the text's continuation
// (rejection_cases.h). Drafts of lookup and sam are chains, and count whole. For a tree of +ours, the first path counts, which is the
// likeliest.
//
// Texts are greedy. The first prompts of their files that are short enough count, regardless of their texts.
// Threads: as the engine.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/apps/lab/papers/record/recording.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

struct RecordLimits {
  static constexpr int kRows = 32;   // The most rows in a pass.
  int texts = 12;                    // For each task.
  int most_tokens = 100;             // In a text.
  int most_prompt_tokens = 1024;     // Longer prompts are skipped, and so are prompts for which the engine's context has no room.
};

struct WrittenAnswer {
  RecordedText text = {};
  std::vector<TokenId> prompt = {}, tokens = {};   // An end token included.
};

// Returns "lookup", "sam", "lookup+ours", "sam+ours".
std::vector<std::string> RecordedDrafters();

// Makes the drafters of such a name. earlier: the answers that SAM drafts from; must outlive the drafters, which read it whenever a text
// begins. WrongUsage (speculate) for another name.
absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> DraftersToRecord(const std::string& name,
                                                                       const std::vector<std::vector<TokenId>>& earlier);

// Returns the prompts of a list of tasks, "summary,rag,ui,reply", or of all tasks for "all": ReadPromptSets' summarization, rag, ui_steps
// and chat, whole. The errors of ReadPromptSets and of ChooseCategories.
absl::StatusOr<std::vector<PromptCategory>> ReadTasks(const std::string& folder, const std::string& list);

// Makes memory plans include drafts and logits.
void PlanRecording(EngineOptions& options);

class TextRecorder {
 public:
  // Creates a recorder; the engine must outlive it. WrongUsage (speculate) for a drafter that is none of these. Otherwise the errors of
  // Conversation and of sessions. REQUIRES: all limits are positive, and PlanRecording had the engine's options.
  static absl::StatusOr<TextRecorder> Create(Engine& engine, const std::string& drafter, const RecordLimits& limits);

  // Writes a task's texts, and calls `written` after each. Drafters keep the knowledge from one text for the next, and know nothing of
  // other tasks. FailedPrecondition if no prompt is short enough; the first error of a pass; Cancelled. REQUIRES: an id for each prompt.
  absl::StatusOr<std::vector<WrittenAnswer>> Record(const PromptCategory& task, absl::FunctionRef<void()> written = [] {});

 private:
  TextRecorder(Engine& engine, std::string drafter, const RecordLimits& limits, const Sampler& sampler, Conversation conversation,
               std::unique_ptr<Session> session)
      : engine_(&engine), drafter_(std::move(drafter)), limits_(limits), sampler_(sampler), conversation_(std::move(conversation)),
        session_(std::move(session)) {}
  absl::StatusOr<WrittenAnswer> Ask(const std::string& prompt);   // Without an answer yet.
  absl::Status Answer(Speculator& speculator, WrittenAnswer& answer);
  int MostPromptTokens() const;

  Engine* engine_;
  std::string drafter_;
  RecordLimits limits_;
  Sampler sampler_;
  Conversation conversation_;
  std::unique_ptr<Session> session_;
};

}  // namespace tessera
