// Answers the requests of --jsonl, from standard input to standard output, or to the file of --into (request_run.h). Requests are answered
// one after another, or --parallel at once.
//
//   LineReader lines;
//   RETURN_IF_ERROR(lines.EditLines());                          // before the model is opened
//   RETURN_IF_ERROR(AnswerRequests(*opened.engine, opened.flash_bytes_per_second, lines, adapters, draft, SampleSetOptionsOfFlags));
//
// With --parallel, a request is read whenever fewer than --parallel texts are being written. Reading never blocks while texts are written.
// So a program may write one request, wait for the answer, and then write the next one. Input that is not needed yet stays in the pipe. At
// a terminal the texts wait while a line is typed.
//
// Answers come in the order of requests, or with --unordered in the order of their ends. In order, at most kMostHeld times --parallel ended
// answers are held back for an earlier one. A reader that does not take answers stops the writing of texts once OutputQueue::kMostBytes
// wait for the reader.
//
// Errors: the errors of FailedRequests, and of reading, both after all other requests are answered; and the first error of writing.
// Threads: the main thread.
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

// Returns the options by which one of a request's "best_of" samples is chosen; the request sets the number of samples. Called once the
// weights are loaded.
using SampleChooser = std::function<absl::StatusOr<SampleSetOptions>(Engine& engine)>;

// Loads the weights and answers the requests. REQUIRES: CheckParallelFlags and PlanTextsOfFlags were OK. flash_bytes_per_second: see
// AnswererOfFlags. adapters: the adapters that requests may name, and the default for requests that name none. draft: the model of
// --draft_model; null: none. Samples are written at once, so requests may have "best_of" with --parallel alone. into: null: answers go to
// standard output.
absl::Status AnswerRequests(Engine& engine, double flash_bytes_per_second, LineReader& lines, const Adapters& adapters,
                            const std::shared_ptr<DraftModel>& draft, const SampleChooser& chooser, AnswerFile* into = nullptr);

}  // namespace tessera
