// Requests from standard input, one JSON object per line, each with an "id" that its answer repeats.
//
//   RETURN_IF_ERROR(ForEachRequest([&](const JsonValue& request) -> absl::Status {
//     ASSIGN_OR_RETURN(std::vector<TokenId> tokens, RequestTokens(request, *engine));
//     JsonWriter answer = BeginAnswer(request);                     // {"id": ...
//     WriteTokens(answer.Key("tokens"), tokens);
//     return WriteAnswer(std::move(answer));                        // ... } and a line break, at once
//   }));
//
// Empty lines are skipped. The first bad line ends it; its error names the line, the field, what was found and what expected.
// Threads: one at a time.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/json.h"
#include "tessera/runtime/engine.h"

namespace tessera {

absl::Status ForEachRequest(const std::function<absl::Status(const JsonValue& request)>& answer);

// The request's "tokens", each in the vocabulary, or those of its "text", with BOS where the model asks for it. Special tokens
// written out in the text count only where the request says "special": true.
absl::StatusOr<std::vector<TokenId>> RequestTokens(const JsonValue& request, const Engine& engine);

// The beginning of an answer: an object with the request's id.
JsonWriter BeginAnswer(const JsonValue& request);
void WriteTokens(JsonWriter& json, absl::Span<const TokenId> tokens);
absl::Status WriteAnswer(JsonWriter answer);

}  // namespace tessera
