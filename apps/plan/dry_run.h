// --dry_run: what a run would load and how much memory it would take, computed without reading weights.
//
//   if (FLAGS_dry_run) return ShowLoadPlan(options);
//   if (FLAGS_dry_run) return ShowLoadPlan(options, CountPrompt);    // a program with --prompt and --prompt_file
//   if (FLAGS_dry_run) return ShowLoadPlan(options, CountPrompt, draft.get());    // one with --draft_model, too
//
// The total is the most memory that the process will have: when a pass has had all its rows and the context is full. Shorter texts take
// less; under a budget the total is never more than the budget. Program and tokenizer are measured, since they are loaded already. With
// --json it is an object. A prompt that flags give is read, and its tokens are counted; standard input and requests are not read. Standard
// error says so where they are asked for, and which files a run would write. Errors are those of loading and of the prompt.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/runtime/draft/draft_model.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// The tokens that a run with this prompt would compute, or the error with which it would end.
using PromptCounter = std::function<absl::StatusOr<int64_t>(const Engine& engine, const std::string& prompt)>;

// draft: its parts have lines of their own, and under a budget it is said what pins in its place would give, or that it would be left out
// (draft_or_pins.h); null: none. REQUIRES: the options' plans count it (DraftModel::CountIn).
absl::Status ShowLoadPlan(const EngineOptions& options, const PromptCounter& count_prompt = nullptr, DraftModel* draft = nullptr);

// The same for a program that cuts a prompt into windows (PlanCutText).
absl::Status ShowLoadPlanOfCutText(const EngineOptions& options, const PromptCounter& count_prompt);

}  // namespace tessera
