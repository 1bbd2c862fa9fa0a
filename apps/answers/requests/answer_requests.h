// Answers the requests of --jsonl, from standard input to standard output, or to the file of --into (request_run.h): one after another, or
// --parallel of them at once.
//
//   LineReader lines;
//   RETURN_IF_ERROR(lines.EditLines());                          // before the model is opened
//   RETURN_IF_ERROR(AnswerRequests(*opened.engine, opened.flash_bytes_per_second, lines, adapters, draft, SampleSetOptionsOfFlags));
//
// With --parallel a request is read whenever there is a text less to be written than that, and never waited for while texts are written. So
// a program that writes one request, waits for its answer and then writes the next gets it; input that nobody asks for stays in its pipe.
// At a terminal the texts wait while a line is typed. Answers come in the order of requests, or with --unordered as they end; where one is
// waited for, at most kMostHeld times as many as --parallel are kept for it. A reader that does not take them stops the writing of texts,
// once what waits for it is OutputQueue::kMostBytes.
//
// Errors: those of FailedRequests, after all others are answered; of reading, too; and the first of writing. Threads: the main one.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/answers/requests/answer_file.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/runtime/draft/draft_model.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scale/sample_set.h"

namespace tessera {

inline constexpr int kMostHeld = 4;

// How one of the samples of a request with "best_of" is chosen; their number is the request's. Called once the weights are loaded.
using SampleChooser = std::function<absl::StatusOr<SampleSetOptions>(Engine& engine)>;

// REQUIRES: CheckParallelFlags and PlanTextsOfFlags were OK. Loads the weights. flash_bytes_per_second: as AnswererOfFlags has it.
// adapters: those that requests may name, and what they have that name none. draft: the model of --draft_model; null: none. Samples are
// written at once, so requests may have "best_of" with --parallel alone. into: null: answers go to standard output.
absl::Status AnswerRequests(Engine& engine, double flash_bytes_per_second, LineReader& lines, const Adapters& adapters,
                            const std::shared_ptr<DraftModel>& draft, const SampleChooser& chooser, AnswerFile* into = nullptr);

}  // namespace tessera
