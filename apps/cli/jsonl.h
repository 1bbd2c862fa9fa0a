// Requests from standard input, one JSON object per line (runtime/chat/request.h), and their answers.
//
//   LineReader lines;
//   RETURN_IF_ERROR(lines.EditLines());                             // Before the model is opened.
//   RETURN_IF_ERROR(ForEachRequest(lines, [&](const Request& request) -> absl::Status {
//     ASSIGN_OR_RETURN(std::vector<TokenId> tokens, PromptTokens(request.body(), *engine, {}));
//     JsonWriter answer = BeginAnswer(request);                     // {"id": ...
//     WriteTokens(answer.Key("tokens"), tokens);
//     return WriteAnswer(std::move(answer));                        // ... } and a line break, at once
//   }));
//
// Empty lines are skipped. The first bad line ends it; its error names the line, the field, what was found and what expected.
// Threads: one at a time.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "tessera/apps/cli/input.h"
#include "tessera/runtime/chat/request.h"

namespace tessera {

absl::Status ForEachRequest(LineReader& lines, const std::function<absl::Status(const Request& request)>& answer);

absl::Status WriteAnswer(JsonWriter answer);
absl::Status WriteAnswer(const std::string& line);   // One that is whole.

}  // namespace tessera
