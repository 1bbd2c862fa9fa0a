#include "tessera/runtime/chat/request.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/runtime/chat/other_fields.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/chat/prompt_size.h"

namespace tessera {
namespace {

// Returns whether the object has a value for `key`. Null counts as no value, as in other programs.
bool IsGiven(const JsonValue& object, absl::string_view key) { return object.Has(key) && !object.Value(key)->is_null(); }

constexpr int64_t kMostTokens = int64_t{1} << 30;

absl::StatusOr<JsonValue> IdOf(const JsonValue& request) {
  ASSIGN_OR_RETURN(const JsonValue id, request.Value("id"));
  if (id.is_string()) {
    ASSIGN_OR_RETURN(const std::string text, id.AsString());
    if (text.size() <= RequestLimits::kMostId) return id;
    return id.Error(absl::StrCat(text.size(), " bytes"), absl::StrCat("at most ", RequestLimits::kMostId));
  }
  if ( id.kind() == JsonValue::Kind::kInt || id.kind() == JsonValue::Kind::kUint) return id;
  return id.Error(JsonKindName(id.kind()), "a string or a whole number");
}

void WriteIdValue(const JsonValue& id, JsonWriter& json) {
  if (id.is_string()) {
    json.String(*id.AsString());
  } else if (id.kind() == JsonValue::Kind::kUint) {  // Above 2^63.
    json.Uint(*id.AsUint());
  } else {
    json.Int(*id.AsInt());
  }
}

std::string TextOfId(const JsonValue& id) {
  JsonWriter json;
  WriteIdValue(id, json);
  return std::move(json).Take();
}

constexpr char kContinue[] = "continue_final_message";

// Checks the last message. A last message of the assistant is an answer, or the beginning of an answer to continue, which the request must
// say. A message that calls tools is whole.
absl::Status CheckLastMessage(const JsonValue& object, const JsonValue& last, absl::string_view role) {
  ASSIGN_OR_RETURN(const bool continues, object.BoolOr(kContinue, false));
  if (continues == (role == "assistant")) return absl::OkStatus();
  if (!continues && last.Has("tool_calls") && last.Value("tool_calls")->size() > 0) return absl::OkStatus();
  const std::string way_out = absl::StrCat("one to answer, or ", kContinue, ": true to go on with it");
  if (!continues) return last.Error("a last message of the assistant", way_out);
  return object.Value(kContinue)->Error(absl::StrCat("true after a message of role ", Quoted(role)), "a last message of the assistant");
}

}  // namespace

absl::StatusOr<std::string> IdTextOf(const JsonValue& object) {
  ASSIGN_OR_RETURN(const JsonValue id, IdOf(object));
  return TextOfId(id);
}

absl::StatusOr<Request> Request::Parse(absl::string_view line, absl::string_view source, const RequestLimits& limits) {
  ASSIGN_OR_RETURN(JsonValue body, JsonValue::Parse(line, source, {.max_bytes = limits.line, .max_values = limits.values}));
  ASSIGN_OR_RETURN(JsonValue id, IdOf(body));
  return Request(std::string(source), std::move(body), std::move(id));
}

void Request::ForgetBody() {
  // The id is a value of the whole document. Parsing makes the id a document of its own.
  id_ = *JsonValue::Parse(IdText(), source_);
  body_ = id_;
}

void Request::WriteId(JsonWriter& json) const { WriteIdValue(id_, json); }
std::string Request::IdText() const { return TextOfId(id_); }

absl::Status Request::At(const absl::Status& error) const {
  if (error.ok() || absl::StartsWith(error.message(), source_)) return error;
  return absl::Status(error.code(), absl::StrCat(source_, ": ", error.message()));
}

absl::StatusOr<Conversation> ConversationOf(const JsonValue& object, const GgufFile& file, const ConversationOptions& options) {
  if (options.system) return WrongUsage("system", "a system message beside messages", "it among the messages");
  if (options.raw) return WrongUsage("raw", "messages to continue as they are", "text instead of messages");
  ConversationOptions of_object = options;
  of_object.needs_template = options.chat_template.empty();
  if (IsGiven(object, "tools")) {
    ASSIGN_OR_RETURN(of_object.tools, object.Array("tools"));
  }
  if (IsGiven(object, "template_args")) {
    ASSIGN_OR_RETURN(of_object.template_args, object.Object("template_args"));
  }
  ASSIGN_OR_RETURN(of_object.continue_last, object.BoolOr(kContinue, false));
  ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(file, of_object));
  ASSIGN_OR_RETURN(const JsonValue messages, object.Array("messages"));
  if (messages.size() == 0) return messages.Error("no messages", "at least one");
  for (int64_t i = 0; i < messages.size(); ++i) {
    ASSIGN_OR_RETURN(ChatMessage message, ChatMessage::FromJson(messages[i]));
    conversation.Add(std::move(message));
  }
  RETURN_IF_ERROR(CheckLastMessage(object, messages[messages.size() - 1], conversation.messages().back().role));
  return conversation;
}

namespace {

absl::StatusOr<std::vector<TokenId>> TextTokens(const JsonValue& object, const Engine& engine) {
  ASSIGN_OR_RETURN(const std::string text, object.String("text"));
  ASSIGN_OR_RETURN(const bool special, object.BoolOr("special", false));
  RETURN_IF_ERROR(RequestLimits::Of(engine).CheckText(static_cast<int64_t>(text.size())));
  if (!special) return engine.tokenizer().Encode(text, {.add_bos = true});
  // BOS comes once, whether or not the text begins with BOS.
  return EncodeChat(engine.tokenizer(), {{text, /*special=*/true}});
}

absl::StatusOr<std::vector<TokenId>> DialogueTokens(const JsonValue& object, const Engine& engine, ConversationOptions options) {
  const RequestLimits limits = RequestLimits::Of(engine);
  options.limits = limits.chat();
  ASSIGN_OR_RETURN(const Conversation conversation, ConversationOf(object, engine.model().gguf(), options));
  int64_t bytes = 0;
  for (const ChatMessage& message : conversation.messages()) bytes += static_cast<int64_t>(message.content.size());
  RETURN_IF_ERROR(limits.CheckText(bytes));
  absl::StatusOr<std::vector<TokenId>> tokens = conversation.Tokens(engine.tokenizer());
  return absl::IsResourceExhausted(tokens.status()) ? LimitedBy(limits.limited_by, tokens.status()) : std::move(tokens);
}

// Checks that the object has one of text, tokens and messages, and no field that belongs to another of the three.
absl::Status CheckOnePrompt(const JsonValue& object) {
  const int given = IsGiven(object, "text") + IsGiven(object, "tokens") + IsGiven(object, "messages");
  if (given == 0) return object.Error("neither text nor tokens nor messages", "one of them");
  if (given > 1) return object.Error("several of text, tokens and messages", "one of them");
  for (const char* const key : {"tools", "template_args", kContinue}) {
    if (IsGiven(object, key) && !IsGiven(object, "messages")) return object.Error(absl::StrCat(key, " without messages"), "messages");
  }
  if (IsGiven(object, "special") && !IsGiven(object, "text")) return object.Error("special without text", "text");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFields(const JsonValue& object, absl::Span<const absl::string_view> known) {
  for (const std::string& name : object.Keys()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const absl::StatusOr<JsonValue> field = object.Value(name);
    return (field.ok() ? *field : object).Error(
        "a field that is not read", absl::StrCat("one of ", absl::StrJoin(known, ", "), ForeignFieldHint(name, known)));
  }
  return absl::OkStatus();
}

absl::Status CheckPrompt(const JsonValue& object, absl::Span<const absl::string_view> more) {
  std::vector<absl::string_view> known = {"id", "text", "special", "tokens", "messages", "tools", "template_args", kContinue};
  known.insert(known.end(), more.begin(), more.end());
  RETURN_IF_ERROR(CheckFields(object, known));
  return CheckOnePrompt(object);
}

absl::StatusOr<std::vector<TokenId>> PromptTokens(const JsonValue& object, const Engine& engine, const ConversationOptions& chat,
                                                  absl::Span<const absl::string_view> more) {
  RETURN_IF_ERROR(CheckPrompt(object, more));
  std::vector<TokenId> tokens;
  if (IsGiven(object, "messages")) {
    ASSIGN_OR_RETURN(tokens, DialogueTokens(object, engine, chat));
  } else if (IsGiven(object, "text")) {
    ASSIGN_OR_RETURN(tokens, TextTokens(object, engine));
  } else {
    ASSIGN_OR_RETURN(const JsonValue list, object.Value("tokens"));
    ASSIGN_OR_RETURN(const std::vector<int64_t> ids, list.AsInts(0, engine.config().vocabulary - 1));
    tokens.assign(ids.begin(), ids.end());
  }
  if (tokens.empty()) return object.Error("no tokens", "at least one");
  RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine.context()));
  return tokens;
}

namespace {

constexpr char kDistinct[] = "distinct_first_tokens";
constexpr char kBestOf[] = "best_of";
constexpr absl::string_view kTextFields[] = {"n",     "n_predict", "stop",  "seed",  "temperature", "top_k", "top_p",
                                             "min_p", "repetition_penalty", "penalty_window", "adapter", "answers", kDistinct, kBestOf};

absl::StatusOr<std::optional<int>> MostTokensOf(const JsonValue& object) {
  if (IsGiven(object, "n") && IsGiven(object, "n_predict")) return object.Error("both n and n_predict", "one of them");
  for (const char* const key : {"n", "n_predict"}) {
    if (!IsGiven(object, key)) continue;
    ASSIGN_OR_RETURN(const int64_t most, object.Int(key, 0, kMostTokens));
    return static_cast<int>(most);
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<std::vector<std::string>>> StopOf(const JsonValue& object) {
  if (!IsGiven(object, "stop")) return std::nullopt;
  const JsonValue stop = *object.Value("stop");
  if (stop.is_array()) return stop.AsStrings();
  if (!stop.is_string()) return stop.Error(JsonKindName(stop.kind()), "a string or a list of strings");
  return std::vector<std::string>{*stop.AsString()};
}

absl::StatusOr<std::optional<std::vector<std::string>>> BoundedStopOf(const JsonValue& object) {
  ASSIGN_OR_RETURN(std::optional<std::vector<std::string>> stop, StopOf(object));
  if (!stop.has_value()) return stop;
  size_t bytes = 0;
  for (const std::string& text : *stop) bytes += text.size();
  if (stop->size() <= RequestLimits::kMostStops && bytes <= RequestLimits::kMostStopBytes) return stop;
  return object.Value("stop")->Error(absl::StrCat(stop->size(), " texts of ", bytes, " bytes"),
                                     absl::StrCat("at most ", RequestLimits::kMostStops, ", of ", RequestLimits::kMostStopBytes));
}

absl::Status TakeFloat(const JsonValue& object, const char* key, float& value) {
  ASSIGN_OR_RETURN(const double given, object.DoubleOr(key, value));
  if (IsGiven(object, key)) value = static_cast<float>(given);
  return absl::OkStatus();
}

absl::Status TakeInt(const JsonValue& object, const char* key, int& value) {
  ASSIGN_OR_RETURN(const int64_t given, object.IntOr(key, value, 0, std::numeric_limits<int>::max()));
  value = static_cast<int>(given);
  return absl::OkStatus();
}

absl::StatusOr<SamplingOptions> SamplingOf(const JsonValue& object, SamplingOptions sampling) {
  RETURN_IF_ERROR(TakeFloat(object, "temperature", sampling.temperature));
  RETURN_IF_ERROR(TakeInt(object, "top_k", sampling.top_k));
  RETURN_IF_ERROR(TakeFloat(object, "top_p", sampling.top_p));
  RETURN_IF_ERROR(TakeFloat(object, "min_p", sampling.min_p));
  RETURN_IF_ERROR(TakeFloat(object, "repetition_penalty", sampling.repetition_penalty));
  RETURN_IF_ERROR(TakeInt(object, "penalty_window", sampling.penalty_window));
  ASSIGN_OR_RETURN(sampling.seed, object.UintOr("seed", sampling.seed));
  RETURN_IF_ERROR(Sampler::Create(sampling).status());
  return sampling;
}

absl::Status TakeBestOf(const JsonValue& object, TextRequest& read) {
  if (!IsGiven(object, kBestOf)) return absl::OkStatus();
  if (IsGiven(object, "answers")) return object.Error("both answers and best_of", "one of them");
  ASSIGN_OR_RETURN(const int64_t samples, object.Int(kBestOf, 1, kMostTexts));
  read.best_of = static_cast<int>(samples);
  return CheckAnswersDiffer(*read.best_of, read.sampling, kBestOf);
}

absl::Status TakeAnswers(const JsonValue& object, TextRequest& read) {
  ASSIGN_OR_RETURN(read.distinct_first_tokens, object.BoolOr(kDistinct, false));
  if (IsGiven(object, "answers")) {
    ASSIGN_OR_RETURN(const int64_t answers, object.Int("answers", 1, kMostTexts));
    read.answers = static_cast<int>(answers);
  }
  if (!read.distinct_first_tokens) return CheckAnswersDiffer(read.answers.value_or(1), read.sampling);
  if (read.answers.value_or(1) == 1) return object.Error(absl::StrCat(kDistinct, " without several answers"), "answers, 2 or more");
  return absl::OkStatus();
}

void WriteAnswerOf(JsonWriter& json, size_t prompt_tokens, const TimedAnswer& answer) {
  if (answer.first.has_value()) WriteFirstToken(json.Key("first_token"), *answer.first);
  WriteTokens(json.Key("output_tokens"), answer.text.tokens);
  json.Key("output_text").String(answer.text.text).Key("finish").String(FinishReasonName(answer.text.reason));
  json.Key("counts").BeginObject().Key("prompt").Int(static_cast<int64_t>(prompt_tokens)).Key("shared_prompt");
  if (answer.shared_tokens.has_value()) json.Int(*answer.shared_tokens); else json.Null();
  json.Key("output").Int(static_cast<int64_t>(answer.text.tokens.size())).EndObject();
  json.Key("seconds").BeginObject().Key("first_token");
  if (answer.first_token_seconds >= 0) json.Double(answer.first_token_seconds, 6); else json.Null();
  json.Key("total").Double(answer.seconds, 6).EndObject();
}

}  // namespace

absl::StatusOr<TextRequest> ReadTextRequest(const Request& request, const Engine& engine, const ConversationOptions& chat,
                                            const SamplingOptions& sampling, const AdapterNames& adapters) {
  const JsonValue& body = request.body();
  TextRequest read;
  ASSIGN_OR_RETURN(read.prompt, PromptTokens(body, engine, chat, kTextFields));
  ASSIGN_OR_RETURN(read.adapter, AdapterPartsOf(body, adapters));
  ASSIGN_OR_RETURN(read.max_tokens, MostTokensOf(body));
  ASSIGN_OR_RETURN(read.stop, BoundedStopOf(body));
  ASSIGN_OR_RETURN(read.sampling, SamplingOf(body, sampling));
  RETURN_IF_ERROR(TakeAnswers(body, read));
  RETURN_IF_ERROR(TakeBestOf(body, read));
  return read;
}

JsonWriter BeginAnswer(const Request& request) {
  JsonWriter answer;
  request.WriteId(answer.BeginObject().Key("id"));
  return answer;
}

void WriteTokens(JsonWriter& json, absl::Span<const TokenId> tokens) {
  json.BeginArray();
  for (const TokenId token : tokens) json.Int(token);
  json.EndArray();
}

void WriteFirstToken(JsonWriter& json, const FirstToken& first) {
  json.BeginObject().Key("id").Int(first.token).Key("text").String(first.text).Key("probability").Double(first.probability, 6).EndObject();
}

std::string TextAnswer(const Request& request, absl::Span<const TokenId> prompt, const TimedAnswer& answer,
                       absl::FunctionRef<void(JsonWriter& json)> more) {
  JsonWriter json = BeginAnswer(request);
  WriteTokens(json.Key("prompt_tokens"), prompt);
  WriteAnswerOf(json, prompt.size(), answer);
  more(json);
  json.EndObject();
  return std::move(json).Take();
}

std::string TextAnswers(const Request& request, absl::Span<const TokenId> prompt, absl::Span<const TimedAnswer> answers) {
  JsonWriter json = BeginAnswer(request);
  WriteTokens(json.Key("prompt_tokens"), prompt);
  json.Key("answers").BeginArray();
  for (const TimedAnswer& answer : answers) {
    json.BeginObject();
    WriteAnswerOf(json, prompt.size(), answer);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take();
}

std::string ErrorAnswer(const Request& request, const absl::Status& error) {
  JsonWriter json = BeginAnswer(request);
  json.Key("error").String(Printable(error.message())).EndObject();
  return std::move(json).Take();
}

std::string ErrorAnswer(int64_t line, const absl::Status& error) {
  JsonWriter json;
  json.BeginObject().Key("id").Null().Key("line").Int(line).Key("error").String(Printable(error.message())).EndObject();
  return std::move(json).Take();
}

}  // namespace tessera
