// Reads requests, which are lines of JSON, and writes the lines that answer requests.
//
//   ASSIGN_OR_RETURN(const Request request, Request::Parse(R"({"id": "a", "text": "Hello", "n": 20})", "standard input, line 3"));
//   ASSIGN_OR_RETURN(const TextRequest asked, ReadTextRequest(request, *engine, {}));
//   TimedAnswer answer;
//   ASSIGN_OR_RETURN(answer.text, answerer.Run(asked.prompt, {.max_tokens = asked.max_tokens.value_or(512)}));
//   TextAnswer(request, asked.prompt, answer);                  // {"id":"a","prompt_tokens":[...],"output_tokens":[...],"output_text":...}
//   ErrorAnswer(request, status);                               // {"id":"a","error":"..."}, if there was one
//
// Lines come from outside and may hold anything. Errors name the source, the field, the value found and the value expected.
//
// Threads: thread-compatible.
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

// A JSON object with an "id", which the answer repeats: a string or a whole number.
class Request {
 public:
  // Reads a line. `source` names the line in errors. InvalidArgument for a line without such an object. ResourceExhausted for a line beyond
  // the limits.
  static absl::StatusOr<Request> Parse(absl::string_view line, absl::string_view source, const RequestLimits& limits = {});

  const JsonValue& body() const { return body_; }
  void ForgetBody();   // Keeps only the id: body() is empty then.
  void WriteId(JsonWriter& json) const;
  std::string IdText() const;   // As IdTextOf.
  // Returns an error of this request: the message after the source. The message has the source only once.
  absl::Status At(const absl::Status& error) const;

 private:
  Request(std::string source, JsonValue body, JsonValue id) : source_(std::move(source)), body_(std::move(body)), id_(std::move(id)) {}

  std::string source_;
  JsonValue body_, id_;
};

// Returns the object's "id" as JSON, in one way for each value: "a" and "\u0061" are the same id, 1 and "1" are two ids. InvalidArgument
// for an object whose "id" is neither a string nor a whole number.
absl::StatusOr<std::string> IdTextOf(const JsonValue& object);

// Returns InvalidArgument for the first field that is not in `known`, with the name of a similar known field. No field of a request is
// ignored.
absl::Status CheckFields(const JsonValue& object, absl::Span<const absl::string_view> known);

// Returns the dialogue of an object. The object has "messages", each with role, content, and further fields that the model's template
// reads. "tools" and "template_args" of the object replace the options'. A last message of the assistant is continued if
// "continue_final_message" is true; otherwise such a message is an error, unless the message calls tools. A file without a template, or
// with a template that cannot run, is an error. A system message or `raw` in the options is an error, too: messages exclude both.
absl::StatusOr<Conversation> ConversationOf(const JsonValue& object, const GgufFile& file, const ConversationOptions& options);

// Returns the object's "tokens", each in the vocabulary, or the tokens of the object's "text" or dialogue. Text gets BOS if the model needs
// BOS. Special tokens in the text are read as special only with "special": true. `chat` is for dialogues. ResourceExhausted beyond
// RequestLimits::Of(engine), or if the tokens do not fit into the context. Fields other than the named fields, "id" and `more` are errors.
absl::StatusOr<std::vector<TokenId>> PromptTokens(const JsonValue& object, const Engine& engine, const ConversationOptions& chat,
                                                  absl::Span<const absl::string_view> more = {});
// Runs only the first checks of PromptTokens, without an engine: known fields, and one prompt.
absl::Status CheckPrompt(const JsonValue& object, absl::Span<const absl::string_view> more = {});

// A text to generate, with the options of the request. Options that the request lacks are the caller's.
struct TextRequest {
  std::vector<TokenId> prompt = {};
  std::optional<int> max_tokens = {};                  // "n_predict", or "n".
  std::optional<std::vector<std::string>> stop = {};   // "stop": a text or a list of texts.
  SamplingOptions sampling = {};                       // The caller's, changed by "seed", "temperature", "top_k", "top_p", ...
  // "answers": the number of different answers. The answers differ in sampling draws, or in first tokens.
  std::optional<int> answers = {};
  bool distinct_first_tokens = false;                  // "distinct_first_tokens": requires several answers.
  // "best_of": the number of samples, of which one is chosen (runtime/scale/sample_set.h).
  std::optional<int> best_of = {};
  std::optional<AdapterParts> adapter = {};            // "adapter", as read by AdapterPartsOf.
};
// Reads a request. sampling: values for fields that the request lacks. adapters: names that the request may use. Errors: the errors of
// PromptTokens and AdapterPartsOf; for each field, the value found and the value expected.
absl::StatusOr<TextRequest> ReadTextRequest(const Request& request, const Engine& engine, const ConversationOptions& chat,
                                            const SamplingOptions& sampling = {}, const AdapterNames& adapters = {});

// Begins an answer: an object with the request's id.
JsonWriter BeginAnswer(const Request& request);
void WriteTokens(JsonWriter& json, absl::Span<const TokenId> tokens);   // Writes an array.
void WriteFirstToken(JsonWriter& json, const FirstToken& first);        // Writes {"id", "text", "probability"}.

// Returns a whole answer, without a line break: {"id", "prompt_tokens": [...], "output_tokens": [...], "output_text", "finish", "counts":
// {"prompt", "shared_prompt", "output"}, "seconds": {"first_token", "total"}}. null: not known, or no such event. An answer with a given
// first token has "first_token", too. more: writes further keys, each with a value.
std::string TextAnswer(const Request& request, absl::Span<const TokenId> prompt, const TimedAnswer& answer,
                       absl::FunctionRef<void(JsonWriter& json)> more = [](JsonWriter&) {});
// Returns the answers to a request with "answers": {"id", "prompt_tokens", "answers": [{"output_tokens", ...}, ...]}, each as TextAnswer.
std::string TextAnswers(const Request& request, absl::Span<const TokenId> prompt, absl::Span<const TimedAnswer> answers);
// Returns {"id", "error": "..."}.
std::string ErrorAnswer(const Request& request, const absl::Status& error);
// Returns {"id": null, "line", "error"} for a line that is no request and has no id. Lines count from 1.
std::string ErrorAnswer(int64_t line, const absl::Status& error);

}  // namespace tessera
