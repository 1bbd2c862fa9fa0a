// Answers the requests of --jsonl, from standard input to standard output: one after another, or --parallel of them at once.
//
//   LineReader lines;
//   RETURN_IF_ERROR(lines.EditLines());                          // before the model is opened
//   RETURN_IF_ERROR(AnswerRequests(*opened.engine, opened.flash_bytes_per_second, lines, adapters));
//
// With --parallel a request is read whenever there is a text less to be written than that, and never waited for while texts are written. So
// a program that writes one request, waits for its answer and then writes the next gets it; input that nobody asks for stays in its pipe.
// At a terminal the texts wait while a line is typed. Answers come in the order of requests, or with --unordered as they end; where one is
// waited for, at most kMostHeld times as many as --parallel are kept for it. A reader that does not take them stops the writing of texts,
// once what waits for it is OutputQueue::kMostBytes.
//
// Errors: those of FailedRequests, after all others are answered; of reading, too; and the first of writing. Threads: the main one.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "tessera/apps/cli/adapter_flags.h"
#include "tessera/apps/cli/draft_flags.h"
#include "tessera/apps/cli/input.h"
#include "tessera/runtime/engine.h"

namespace tessera {

inline constexpr int kMostHeld = 4;

// REQUIRES: CheckParallelFlags and PlanTextsOfFlags were OK. Loads the weights. flash_bytes_per_second: as AnswererOfFlags has it.
// adapters: those that requests may name, and what they have that name none. draft: the model of --draft_model; null: none.
absl::Status AnswerRequests(Engine& engine, double flash_bytes_per_second, LineReader& lines, const Adapters& adapters = Adapters(),
                            const std::shared_ptr<DraftModel>& draft = nullptr);

}  // namespace tessera
