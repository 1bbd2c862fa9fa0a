// Requests that are lines of JSON, and the lines that answer them.
//
//   ASSIGN_OR_RETURN(const Request request, Request::Parse(R"({"id": "a", "text": "Hello", "n": 20})", "standard input, line 3"));
//   ASSIGN_OR_RETURN(const TextRequest asked, ReadTextRequest(request, *engine, {}));
//   TimedAnswer answer;
//   ASSIGN_OR_RETURN(answer.text, answerer.Run(asked.prompt, {.max_tokens = asked.max_tokens.value_or(512)}));
//   TextAnswer(request, asked.prompt, answer);                  // {"id":"a","prompt_tokens":[...],"output_tokens":[...],"output_text":...}
//   ErrorAnswer(request, status);                               // {"id":"a","error":"..."}, if there was one
//
// Lines come from outside: they may hold anything. Errors name the source, the field, what was found and what expected. Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/json.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/adapters/adapter_parts.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/runtime/chat/request_limits.h"
#include "tessera/runtime/chat/timings.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/first_tokens.h"

namespace tessera {

// An object with an "id", which its answer repeats: a string or a whole number.
class Request {
 public:
  // `source` names the line in errors. InvalidArgument for a line that is no such object; ResourceExhausted for one beyond the limits.
  static absl::StatusOr<Request> Parse(absl::string_view line, absl::string_view source, const RequestLimits& limits = {});

  const JsonValue& body() const { return body_; }
  void ForgetBody();   // Keeps the id alone: body() is empty then.
  void WriteId(JsonWriter& json) const;
  std::string IdText() const;   // As IdTextOf has it.
  // An error of this request: its message after the source, which stands there once.
  absl::Status At(const absl::Status& error) const;

 private:
  Request(std::string source, JsonValue body, JsonValue id) : source_(std::move(source)), body_(std::move(body)), id_(std::move(id)) {}

  std::string source_;
  JsonValue body_, id_;
};

// Returns the object's "id" as JSON, in one way for each value: "a" and "\u0061" are the same id, 1 and "1" are two. InvalidArgument for
// an object without a string or a whole number there.
absl::StatusOr<std::string> IdTextOf(const JsonValue& object);

// InvalidArgument for the first field that is not in `known`, with the field that may be meant: nothing that a request says is passed over.
absl::Status CheckFields(const JsonValue& object, absl::Span<const absl::string_view> known);

// The dialogue of an object: "messages" (each with role and content, and what else the model's template reads), "tools" and
// "template_args", which stand for those of the options. A last message of the assistant is continued where "continue_final_message" is
// true, and an error else, unless it calls tools. A file without a template, or one that cannot be run, is an error; so is a system message
// or `raw` in the options, which could not be followed beside messages.
absl::StatusOr<Conversation> ConversationOf(const JsonValue& object, const GgufFile& file, const ConversationOptions& options);

// The object's "tokens", each in the vocabulary, or those of its "text", with BOS where the model asks for it, or of its dialogue.
// Special tokens written out in the text count only where the object says "special": true. ResourceExhausted beyond
// RequestLimits::Of(engine), or if the tokens do not fit into the context. `chat` is for dialogues. Other fields than these, "id" and
// `more` are errors.
absl::StatusOr<std::vector<TokenId>> PromptTokens(const JsonValue& object, const Engine& engine, const ConversationOptions& chat,
                                                  absl::Span<const absl::string_view> more = {});
// Only the first of these steps, for what has a tokenizer and no engine: fields that are known, and one prompt.
absl::Status CheckPrompt(const JsonValue& object, absl::Span<const absl::string_view> more = {});

// A text to be written, with what the request says of it; what it does not say is as the caller has it.
struct TextRequest {
  std::vector<TokenId> prompt = {};
  std::optional<int> max_tokens = {};                  // "n_predict", or "n".
  std::optional<std::vector<std::string>> stop = {};   // "stop": a text or a list of texts.
  SamplingOptions sampling = {};                       // The caller's, with the request's "seed", "temperature", "top_k", "top_p", ...
  std::optional<int> answers = {};                     // "answers": as many texts, which differ,
  bool distinct_first_tokens = false;                  // by their draws, or by the tokens that they begin with; then there are several.
  std::optional<int> best_of = {};                     // "best_of": one of so many texts, as runtime/scale/sample_set.h chooses it.
  std::optional<AdapterParts> adapter = {};            // As AdapterPartsOf has it.
};
// sampling: values for fields that the request lacks; adapters: names that it may have. Errors: PromptTokens, AdapterPartsOf, and
// each field with the value found and the value expected.
absl::StatusOr<TextRequest> ReadTextRequest(const Request& request, const Engine& engine, const ConversationOptions& chat,
                                            const SamplingOptions& sampling = {}, const AdapterNames& adapters = {});

// The beginning of an answer: an object with the request's id.
JsonWriter BeginAnswer(const Request& request);
void WriteTokens(JsonWriter& json, absl::Span<const TokenId> tokens);   // An array.
void WriteFirstToken(JsonWriter& json, const FirstToken& first);        // {"id", "text", "probability"}.

// Whole answers, without a line break. {"id", "prompt_tokens": [...], "output_tokens": [...], "output_text", "finish", "counts": {"prompt",
// "shared_prompt", "output"}, "seconds": {"first_token", "total"}}; null: not known, or there was none. An answer that was told how to
// begin has "first_token", too. more: writes further keys, each with its value.
std::string TextAnswer(const Request& request, absl::Span<const TokenId> prompt, const TimedAnswer& answer,
                       absl::FunctionRef<void(JsonWriter& json)> more = [](JsonWriter&) {});
// For a request with "answers": {"id", "prompt_tokens", "answers": [{"output_tokens", ...}, ...]}, each as above.
std::string TextAnswers(const Request& request, absl::Span<const TokenId> prompt, absl::Span<const TimedAnswer> answers);
// {"id", "error": "..."}.
std::string ErrorAnswer(const Request& request, const absl::Status& error);
// For a line that is no request, and has no id: {"id": null, "line", "error"}. Lines count from 1.
std::string ErrorAnswer(int64_t line, const absl::Status& error);

}  // namespace tessera
