// tessera_generate --beam: answers by beam search (runtime/scale/beam_run.h), to one prompt or to requests one after another.
//
//   RETURN_IF_ERROR(CheckBeamFlags());                                 // apps/cli/flags/beam_flags.h
//   RETURN_IF_ERROR(PlanBeamsOfFlags(options));
//   ...
//   if (FLAGS_jsonl) return AnswerRequestsByBeams(opened, lines, adapters);
//   return AnswerByBeams(opened, conversation, prompt, adapter.get());
//
// Output comes at the end of the search: the best text or, with --json, all final texts of the search. Standard error has the summary and,
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

// Answers the prompt. conversation: does not have the prompt yet. adapter: null: the model without an adapter. Cancelled after a signal:
// nothing is shown then.
absl::Status AnswerByBeams(const OpenedEngine& opened, Conversation& conversation, const std::string& prompt, const LoraAdapter* adapter);

// Answers the requests. Each answer has "beam", "scorer", "score" and the other members of WriteBeams (apps/show/beam_report.h). "answers"
// and "best_of" in a request are errors of that request; so are sampling values that would make all steps the same. into: the file of
// --into (apps/answers/requests/request_run.h); null: answers go to standard output.
absl::Status AnswerRequestsByBeams(const OpenedEngine& opened, LineReader& lines, const Adapters& adapters, AnswerFile* into = nullptr);

}  // namespace tessera
