// --dry_run: shows the parts that a run would load, and the memory, without reading weights.
//
//   if (FLAGS_dry_run) return ShowLoadPlan(options);
//   if (FLAGS_dry_run) return ShowLoadPlan(options, CountPrompt);    // a program with --prompt and --prompt_file
//   if (FLAGS_dry_run) return ShowLoadPlan(options, CountPrompt, draft.get());    // one with --draft_model, too
//
// The total is the most memory that the process will have: after a pass of the most rows, with a full context. Shorter texts take less;
// under a budget the total is never more than the budget. Program and tokenizer are measured, since both are loaded already. With --json
// the output is an object. A prompt that flags give is read, and the prompt's tokens are counted. Standard input and requests are not read;
// a line on standard error says so where flags ask for either. Standard error also names the files that a run would write. Errors: the
// errors of loading and of the prompt.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/runtime/draft/draft_model.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Returns the number of tokens that a run with the prompt would compute, or the error that would end the run.
using PromptCounter = std::function<absl::StatusOr<int64_t>(const Engine& engine, const std::string& prompt)>;

// Shows the plan. draft: the draft's parts have separate lines; null: none. Under a budget, the output predicts the speed with pins in the
// draft's place, or says that the draft would be left out (draft_or_pins.h). REQUIRES: the options' plans count the draft
// (DraftModel::CountIn).
absl::Status ShowLoadPlan(const EngineOptions& options, const PromptCounter& count_prompt = nullptr, DraftModel* draft = nullptr);

// Shows the plan of a program that cuts a prompt into windows (PlanCutText).
absl::Status ShowLoadPlanOfCutText(const EngineOptions& options, const PromptCounter& count_prompt);

}  // namespace tessera
