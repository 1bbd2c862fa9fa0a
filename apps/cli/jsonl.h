// --jsonl: requests from standard input, one JSON object per line, and a line that answers each (runtime/chat/request.h).
//
//   return AnswerRequests([&](const Request& request) -> absl::StatusOr<std::string> {
//     ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, PromptTokens(request.body(), *engine));
//     JsonWriter answer = BeginAnswer(request);
//     WriteTokens(answer.Key("tokens"), tokens);
//     answer.EndObject();
//     return std::move(answer).Take();
//   });
//
// Empty lines are skipped. Threads: one at a time.
#pragma once

#include <string>

#include <gflags/gflags_declare.h>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/runtime/chat/request.h"

DECLARE_bool(jsonl);

namespace tessera {

// Writes a line for each request as soon as it is answered: what `answer` gives, or {"id", "error"} for its error, or for a line that is
// no request (`answer` is not called for that). In the end InvalidArgument if any failed, which says how many, and the first error.
// Cancelled, and what standard input and output give, end it at once.
absl::Status AnswerRequests(absl::FunctionRef<absl::StatusOr<std::string>(const Request& request)> answer);

}  // namespace tessera
