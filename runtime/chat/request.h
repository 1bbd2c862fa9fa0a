// Requests that are lines of JSON, and the lines that answer them: each request is right or wrong by itself.
//
//   const Request request(R"({"id": "a", "text": "Hello", "n": 20})", "standard input, line 3");
//   const absl::StatusOr<TextRequest> asked = ReadTextRequest(request, *engine);
//   if (!asked.ok()) return ErrorAnswer(request, asked.status());            // {"id":"a","error":"standard input, line 3: ..."}
//   ASSIGN_OR_RETURN(const Generation result, answerer.Run(asked->prompt, {.max_tokens = asked->max_tokens.value_or(512)}));
//   return TextAnswer(request, asked->prompt, result);                        // {"id":"a","prompt_tokens":[...], ...}
//
// Lines come from outside: they may hold anything. Errors name the source, the field, what was found and what expected. Thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/json.h"
#include "tessera/runtime/decode_loop.h"
#include "tessera/runtime/engine.h"

namespace tessera {

constexpr int64_t kLargestRequest = int64_t{64} << 20;   // Bytes of a line.

// An object with an "id", which its answer repeats: a string or a whole number.
class Request {
 public:
  // `source` names the line in errors. Any line can be taken: status() says what is wrong with it.
  Request(absl::string_view line, absl::string_view source);
  // A line that could not be read.
  Request(const absl::Status& error, absl::string_view source) : source_(source), body_(error) {}

  absl::Status status() const { return body_.status(); }
  const JsonValue& body() const { return *body_; }         // REQUIRES: status() is OK.
  const std::string& source() const { return source_; }
  void WriteId(JsonWriter& json) const;                     // Null if the line has none.

 private:
  std::string source_;
  std::optional<JsonValue> id_;
  absl::StatusOr<JsonValue> body_;
};

// The object's "tokens", each in the vocabulary, or those of its "text", with BOS where the model asks for it. Special tokens that are
// written out in the text count only where the object says "special": true. ResourceExhausted if the text cannot fit into the context.
absl::StatusOr<std::vector<TokenId>> PromptTokens(const JsonValue& object, const Engine& engine);

struct TextRequest {
  std::vector<TokenId> prompt;
  std::optional<int> max_tokens;       // "n"
};
// The request's own status, if that is not OK.
absl::StatusOr<TextRequest> ReadTextRequest(const Request& request, const Engine& engine);

// An answer is a line without its line break. BeginAnswer: an object with the request's id, to be filled and ended.
JsonWriter BeginAnswer(const Request& request);
void WriteTokens(JsonWriter& json, absl::Span<const TokenId> tokens);   // An array.
std::string TextAnswer(const Request& request, absl::Span<const TokenId> prompt, const Generation& result);
std::string ErrorAnswer(const Request& request, const absl::Status& error);   // "id" and "error".
// The error's message after the request's source, which is there once.
std::string ErrorText(const Request& request, const absl::Status& error);

}  // namespace tessera
