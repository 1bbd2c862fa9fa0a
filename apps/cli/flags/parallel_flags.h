// Several texts at once: --parallel requests of --jsonl, --answers to one prompt, or samples of --best_of.
//
//   RETURN_IF_ERROR(CheckParallelFlags());
//   RETURN_IF_ERROR(PlanTextsOfFlags(options, draft));                     // before the engine is opened; draft: draft_flags.h
//   ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers,
//                    ParallelAnswersOfFlags(*engine, opened.flash_bytes_per_second, draft));
//
// Errors: wrong usage of the faulty flag (base/usage_error.h). Threads: one at a time.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/draft/draft_model.h"

namespace tessera {

int TextsOfFlags();   // Returns the number of texts that are written at once; 1: none shares a pass.

// Checks the flags. WrongUsage if flags exclude each other, or if a flag has no effect because of the others.
absl::Status CheckParallelFlags();

// Returns WrongUsage (answers, best_of, beam) if all texts would be the same with this sampling and nothing else makes the texts differ.
absl::Status CheckAnswersOfFlagsDiffer(const SamplingOptions& sampling);

// Makes memory plans include the texts and the texts' speculation, also for a single text. draft: null without --draft_model.
absl::Status PlanTextsOfFlags(EngineOptions& options, const std::shared_ptr<DraftModel>& draft);

// Makes the answerer as AnswererOfFlags does (chat_flags.h), for TextsOfFlags() texts.
absl::StatusOr<std::unique_ptr<ParallelAnswers>> ParallelAnswersOfFlags(Engine& engine, double flash_bytes_per_second,
                                                                        const std::shared_ptr<DraftModel>& draft);

// Writes to standard error, at the end of a run, how often texts waited for room in the cache, and how often texts were preempted. Writes
// nothing if neither happened.
void TellOfWaits(const ParallelAnswers& answers);

}  // namespace tessera
