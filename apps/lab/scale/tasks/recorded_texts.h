// Recorded samples as a model reads them: each with its problem's prompt and its own tokens.
//
//   ASSIGN_OR_RETURN(const RecordedSet set, RecordedSetOfFlags());                  // --task, --data, --candidates, --split
//   ASSIGN_OR_RETURN(const RecordedTexts texts, RecordedTexts::Create(set, *engine, PromptForm::kTask));
//   RETURN_IF_ERROR(texts.ForEach([&](const RecordedSample& text) -> absl::Status { ... }));
//
// Without --candidates samples are those of gsm8k_model_solutions.jsonl. Prompts are those that `run` gives a model (task_prompts.h), or
// the bare problem and a line break. Errors are wrong usage of the flag, and name file, line and field. Threads: one at a time.
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
  Recorded recorded = {};        // Each question has its problem.
  std::string file = {};         // Where the samples are from, without folders.
  int64_t samples() const;
};
// WrongUsage (candidates) for two samples of a problem with the same number.
absl::StatusOr<RecordedSet> RecordedSetOfFlags();

// The number that a sample's line gives it, or its place among those of its question.
int NumberOf(const Question& question, size_t place);

// kTask: as `run` has them. kStatement: the problem alone and a line break, as public process reward models are given it.
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
  // The set and the engine, whose weights are not asked for, must outlive it.
  static absl::StatusOr<RecordedTexts> Create(const RecordedSet& set, const Engine& engine, PromptForm form);

  const std::string& form() const { return form_; }   // "raw", "statement" or the template's name.
  // Question by question. Ends with the first error of `visit`, which then names problem and sample.
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
