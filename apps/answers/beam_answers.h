// tessera_generate --beam: answers by beam search (runtime/scale/beam_run.h), to one prompt or to requests one after another.
//
//   RETURN_IF_ERROR(CheckBeamFlags());                                 // apps/cli/flags/beam_flags.h
//   RETURN_IF_ERROR(PlanBeamsOfFlags(options));
//   ...
//   if (FLAGS_jsonl) return AnswerRequestsByBeams(opened, lines, adapters);
//   return AnswerByBeams(opened, conversation, prompt, adapter.get());
//
// What is shown is known at the end: the best text or, with --json, all that the search ended with. Standard error has the summary and,
// with --stats, the steps. Weights are loaded here, once the prompt fits. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/apps/answers/requests/answer_file.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/model/lora.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {

// conversation: without the prompt so far. adapter: null: the model as it is. Cancelled after a signal: nothing is shown then.
absl::Status AnswerByBeams(const OpenedEngine& opened, Conversation& conversation, const std::string& prompt, const LoraAdapter* adapter);

// Each request's answer has "beam", "scorer", "score" and what else WriteBeams (apps/show/beam_report.h) writes. "answers" and "best_of" in
// a request are errors of that request, and so is sampling by which all steps would be the same. into: the file of --into
// (apps/answers/requests/request_run.h); null: answers go to standard output.
absl::Status AnswerRequestsByBeams(const OpenedEngine& opened, LineReader& lines, const Adapters& adapters, AnswerFile* into = nullptr);

}  // namespace tessera
