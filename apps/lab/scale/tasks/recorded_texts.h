// Recorded samples in the form that a model reads: each with the problem's prompt and the sample's tokens.
//
//   ASSIGN_OR_RETURN(const RecordedSet set, RecordedSetOfFlags());                  // --task, --data, --candidates, --split
//   ASSIGN_OR_RETURN(const RecordedTexts texts, RecordedTexts::Create(set, *engine, PromptForm::kTask));
//   RETURN_IF_ERROR(texts.ForEach([&](const RecordedSample& text) -> absl::Status { ... }));
//
// Without --candidates the samples come from gsm8k_model_solutions.jsonl. A prompt is the prompt that `run` gives a model (task_prompts.h),
// or the bare problem and a line break. Errors are wrong usage of the flag, and name file, line and field. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/scale/judging/candidates.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/token.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct RecordedSet {
  Task task = {};
  Recorded recorded = {};        // Each question has a problem.
  std::string file = {};         // The samples' file, without folders.
  int64_t samples() const;
};
// Reads the set that the flags name. WrongUsage (candidates) for two samples of a problem with the same number.
absl::StatusOr<RecordedSet> RecordedSetOfFlags();

// Returns the number that a sample's line has, or the sample's place among the question's samples.
int NumberOf(const Question& question, size_t place);

// The form of prompts. kTask: the prompts of `run`. kStatement: the problem alone and a line break, the form that public process reward
// models expect.
enum class PromptForm : uint8_t { kTask, kStatement };

struct RecordedSample {
  const Question* question = nullptr;
  const JudgedSample* candidate = nullptr;
  int sample = 0;
  absl::Span<const TokenId> prompt = {};
  std::vector<TokenId> tokens = {};      // The sample's.
};

class RecordedTexts {
 public:
  // Creates the prompts. The set and the engine must outlive the object. The engine's weights are not used.
  static absl::StatusOr<RecordedTexts> Create(const RecordedSet& set, const Engine& engine, PromptForm form);

  const std::string& form() const { return form_; }   // "raw", "statement" or the template's name.
  // Calls `visit` for each sample, question by question. Returns the first error of `visit`, with the problem and the sample.
  absl::Status ForEach(absl::FunctionRef<absl::Status(const RecordedSample& text)> visit) const;

 private:
  RecordedTexts(const RecordedSet& set, const Engine& engine) : set_(&set), engine_(&engine) {}
  std::vector<TokenId> TokensBehind(absl::Span<const TokenId> prompt, absl::string_view text) const;

  const RecordedSet* set_;
  const Engine* engine_;
  std::string form_;
  std::map<std::string, std::vector<TokenId>> prompts_;   // By the problem's id.
};

}  // namespace tessera
