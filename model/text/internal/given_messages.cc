#include "tessera/model/text/internal/given_messages.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/last_message.h"
#include "tessera/model/text/internal/probe_words.h"
#include "tessera/model/text/jinja/template.h"

namespace tessera {
namespace {

constexpr char kCalls[] = "tool_calls";
constexpr char kFunctionCall[] = "function_call";   // The one call of messages before there were several.
constexpr char kAssistant[] = "assistant";

// The roles that templates know. Some templates write a role as a part of a mark, "<|user|>", so known roles count as words of the
// template. The caller says whose turn it is, and no known role makes a mark that ends or lays out a text. Any other role is the user's
// text.
constexpr absl::string_view kRoles[] = {"system",      "user",        "assistant",     "tool",        "developer", "model", "function",
                                        "observation", "environment", "tool_response", "tool_result", "tool_results", "ipython"};
// Roles whose contents are texts or parts, and nothing else.
constexpr absl::string_view kSpeakers[] = {"system", "user", "assistant", "developer"};

template <size_t kSize>
bool IsIn(const absl::string_view (&names)[kSize], absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

jinja::Value Key(absl::string_view name) { return jinja::Value::String(name); }
jinja::Value RoleValue(const std::string& role) { return jinja::Value::Of(jinja::Text(role, /*from_data=*/!IsIn(kRoles, role))); }

jinja::Value PartOf(const std::string& text, const std::string& key) {
  std::vector<std::pair<std::string, jinja::Value>> entries = {{"type", jinja::Value::String("text")},
                                                               {"text", jinja::Value::String(text)}};
  if (!key.empty()) entries.emplace_back(key, jinja::Value::String(""));
  return jinja::Value::Dict(std::move(entries));
}

// Returns the call without the fields that are not taken.
jinja::Value Taken(const jinja::Value& value, const JsonValue& object, FieldHolder holder, GivenMessages::TakesField takes) {
  jinja::Mapping mapping;
  for (const auto& [name, field] : value.mapping().entries()) {
    const std::string& key = name.text().bytes();
    if (!takes(object, holder, key)) continue;
    const bool is_function = holder == FieldHolder::kCall && key == "function" && field.kind() == jinja::Value::Kind::kMapping;
    mapping.Set(name, is_function ? Taken(field, *object.Value(key), FieldHolder::kFunction, takes) : field);
  }
  return jinja::Value::Of(std::move(mapping));
}

// Returns true if an error comes from the work limits of a request, not from the template or the messages.
bool IsLimit(const absl::Status& status) { return !status.ok() && !absl::IsInvalidArgument(status); }

bool SaysSomething(const JsonValue& calls) { return calls.is_array() && calls.size() > 0; }

bool TakesEach(const JsonValue&, FieldHolder, const std::string&) { return true; }

// Keeps in `kept` the error with more information: a template's own refusal.
void KeepRefusal(const absl::Status& error, absl::StatusOr<std::vector<ChatPiece>>& kept) {
  if (jinja::IsRefusal(error) && !kept.ok() && !jinja::IsRefusal(kept.status())) kept = error;
}

}  // namespace

std::string TextOf(absl::Span<const ChatPiece> pieces) {
  return absl::StrJoin(pieces, "", [](std::string* out, const ChatPiece& piece) { out->append(piece.text); });
}

bool GivenMessages::Message::HasNoContentBesideCalls() const {
  return content == Content::kNone || (content == Content::kText && !calls.empty() && IsBlank(texts[0]));
}

bool GivenMessages::Message::HasSentArguments() const {
  const auto is_text = [](const GivenCall& call) { return call.as_sent.has_value(); };
  return std::any_of(calls.begin(), calls.end(), is_text) || (function_call && is_text(*function_call));
}

absl::StatusOr<GivenMessages> GivenMessages::Of(absl::Span<const ChatMessage> messages, const Options& options) {
  GivenMessages given;
  for (const ChatMessage& message : messages) RETURN_IF_ERROR(given.Add(message, options));
  return given;
}

absl::Status GivenMessages::Add(const ChatMessage& message, const Options& options) {
  const bool is_system = message.role == "developer" && !options.knows_developer;
  Message added = {.message = &message, .role = is_system ? "system" : message.role, .first_said = said_.size()};
  RETURN_IF_ERROR(AddContent(message, added));
  RETURN_IF_ERROR(AddCalls(message, added));
  added.end_said = said_.size();
  messages_.push_back(std::move(added));
  return absl::OkStatus();
}

absl::Status GivenMessages::AddContent(const ChatMessage& message, Message& added) {
  const auto says = [&](Said::What what, size_t index) { said_.push_back({.what = what, .message = messages_.size(), .index = index}); };
  const std::optional<JsonValue>& whole = message.whole;
  if (!whole || (whole->Has("content") && whole->Value("content")->is_string())) {
    added.content = Content::kText;
    added.texts = {message.content};
    if (!IsBlank(message.content)) says(Said::What::kText, 0);
    return absl::OkStatus();
  }
  if (!whole->Has("content") || whole->Value("content")->is_null()) return CheckMayLackContent(*whole, message.role);
  const JsonValue content = *whole->Value("content");
  added.content = HoldsParts(content) ? Content::kParts : Content::kOther;
  if (added.content == Content::kOther && content.is_array() && IsIn(kSpeakers, message.role)) {
    return content.Error("a list of other things", "a text, or a list of parts, {\"type\": \"text\", \"text\": \"...\"}");
  }
  if (added.content == Content::kOther) says(Said::What::kOther, 0);
  for (int64_t i = 0; added.content == Content::kParts && i < content.size(); ++i) {
    ASSIGN_OR_RETURN(added.texts.emplace_back(), TextOfPart(content[i]));
    if (!IsBlank(added.texts.back())) says(Said::What::kPart, static_cast<size_t>(i));
  }
  if (added.content == Content::kParts && said_.size() == added.first_said) AddBlankParts(*whole, added);
  return absl::OkStatus();
}

void GivenMessages::AddBlankParts(const JsonValue& whole, Message& added) {
  if (whole.Has(kCalls) && SaysSomething(*whole.Value(kCalls))) {   // Like an empty text next to calls, which may be given as none.
    added.content = Content::kText;
    added.texts = {absl::StrJoin(added.texts, "\n")};
    return;
  }
  if (added.texts.empty()) added.texts.emplace_back();
  said_.push_back({.what = Said::What::kPart, .message = messages_.size(), .index = 0, .is_blank = true});
}

absl::Status GivenMessages::AddCalls(const ChatMessage& message, Message& added) {
  if (message.whole && message.whole->Has(kFunctionCall) && !message.whole->Value(kFunctionCall)->is_null()) {
    ASSIGN_OR_RETURN(added.function_call, GivenCall::Of(*message.whole->Value(kFunctionCall), argument_values_left_));
  }
  if (!message.whole || !message.whole->Has(kCalls) || message.whole->Value(kCalls)->is_null()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue calls, message.whole->Array(kCalls));
  for (int64_t i = 0; i < calls.size(); ++i) {
    ASSIGN_OR_RETURN(added.calls.emplace_back(), GivenCall::Of(calls[i], argument_values_left_));
    said_.push_back({.what = Said::What::kCall, .message = messages_.size(), .index = static_cast<size_t>(i)});
  }
  return absl::OkStatus();
}

std::string GivenMessages::WordOf(const Said& said) const { return ProbeWord(static_cast<size_t>(&said - said_.data())); }

std::string GivenMessages::KeyOf(const Said& said) const { return ProbeKey(static_cast<size_t>(&said - said_.data())); }

absl::StatusOr<std::vector<jinja::Value>> GivenMessages::Values(TakesField takes, const Trial& trial) const {
  std::vector<jinja::Value> values;
  for (const Message& message : messages_) {
    if (trial.leaves_out_message && &message == &messages_[trial.changed->message]) continue;
    ASSIGN_OR_RETURN(values.emplace_back(), ValueOf(message, takes, trial));
  }
  return values;
}

absl::StatusOr<jinja::Value> GivenMessages::ValueOf(const Message& message, TakesField takes, const Trial& trial) const {
  jinja::Mapping mapping;
  const std::optional<JsonValue>& whole = message.message->whole;
  const std::vector<std::string> keys = whole ? whole->Keys() : std::vector<std::string>{"role", "content"};
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool is_null = whole && (*whole)[static_cast<int64_t>(i)].is_null();
    if ((is_null && keys[i] != "content") || (whole && !takes(*whole, FieldHolder::kMessage, keys[i]))) continue;
    jinja::Value value;
    if (keys[i] == "role") {
      value = RoleValue(message.role);
    } else if (keys[i] == "content") {
      ASSIGN_OR_RETURN(value, ContentOf(message, trial));
    } else if (keys[i] == kCalls) {
      if (message.calls.empty()) continue;
      value = CallsOf(message, takes, trial);
    } else if (keys[i] == kFunctionCall) {
      value = message.function_call->Form(form_.sent_arguments);
    } else {
      ASSIGN_OR_RETURN(value, jinja::Value::FromJson((*whole)[static_cast<int64_t>(i)]));
    }
    mapping.Set(Key(keys[i]), std::move(value));
  }
  if (whole && !whole->Has("content") && message.role == kAssistant) {
    ASSIGN_OR_RETURN(jinja::Value content, ContentOf(message, trial));
    mapping.Set(Key("content"), std::move(content));
  }
  return jinja::Value::Of(std::move(mapping));
}

absl::StatusOr<jinja::Value> GivenMessages::ContentOf(const Message& message, const Trial& trial) const {
  std::vector<std::string> texts = message.texts, keys(texts.size());
  for (size_t i = message.first_said; i < message.end_said; ++i) {
    const bool is_changed = trial.words || &said_[i] == trial.changed;
    if (said_[i].what == Said::What::kOther && !trial.words && is_changed) return jinja::Value::None();
    if (!is_changed || said_[i].index >= texts.size() || said_[i].what == Said::What::kCall) continue;
    texts[said_[i].index] = WordOf(said_[i]);
    if (trial.words) keys[said_[i].index] = KeyOf(said_[i]);
  }
  if (message.content == Content::kOther) return jinja::Value::FromJson(*message.message->whole->Value("content"));
  const bool ends = !trial.end.empty() && &message == &messages_.back();
  if (!ends && message.HasNoContentBesideCalls() && form_.nothing != FormOfCalls::Nothing::kText &&
      (message.content == Content::kNone || form_.nothing == FormOfCalls::Nothing::kNone)) {
    return jinja::Value::NoText();
  }
  if (texts.empty()) texts.emplace_back();
  keys.resize(texts.size());
  if (ends) absl::StrAppend(&texts.back(), trial.end);
  if ((message.content != Content::kParts) != message.other_form) return jinja::Value::String(absl::StrJoin(texts, "\n"));
  std::vector<jinja::Value> parts;
  for (size_t i = 0; i < texts.size(); ++i) parts.push_back(PartOf(texts[i], keys[i]));
  return jinja::Value::List(std::move(parts));
}

jinja::Value GivenMessages::CallsOf(const Message& message, TakesField takes, const Trial& trial) const {
  const JsonValue json = *message.message->whole->Value(kCalls);
  std::vector<jinja::Value> changed;
  for (size_t i = message.first_said; i < message.end_said; ++i) {
    if (said_[i].what != Said::What::kCall || &said_[i] == trial.changed) continue;
    const GivenCall& call = message.calls[said_[i].index];
    const JsonValue sent = json[static_cast<int64_t>(said_[i].index)];
    const jinja::Value value = Taken(call.Form(form_.sent_arguments), sent, FieldHolder::kCall, takes);
    changed.push_back(trial.words ? Renamed(value, WordOf(said_[i])) : value);
  }
  return jinja::Value::List(std::move(changed));
}

absl::StatusOr<std::vector<ChatPiece>> GivenMessages::Try(Run run, const Trial& trial) const {
  ASSIGN_OR_RETURN(std::vector<jinja::Value> values, Values(TakesEach, trial));
  return run(std::move(values));
}

bool GivenMessages::Look(const absl::StatusOr<std::vector<ChatPiece>>& written) {
  const FoundProbes found(written.ok() ? absl::AsciiStrToLower(TextOf(*written)) : "", said_.size());
  bool all = true;
  for (size_t i = 0; i < said_.size(); ++i) {
    Said& said = said_[i];
    const Message& message = messages_[said.message];
    const bool is_list = said.what != Said::What::kCall && (message.content == Content::kParts) != message.other_form;
    said.seen = said.what != Said::What::kOther && !(is_list && found.keys[i]) && found.words[i];
    all = all && said.seen;
  }
  return all;
}

// Returns the forms with changes for some messages: for all of a kind, or for the roles and kinds with an unseen statement.
std::vector<bool> GivenMessages::OtherForms(bool look_at_unseen, Content kind) const {
  std::set<std::pair<std::string, Content>> unseen;
  for (const Said& said : said_) {
    const Message& message = messages_[said.message];
    if (!said.seen && said.what != Said::What::kCall) unseen.emplace(message.role, message.content);
  }
  std::vector<bool> forms;
  for (const Message& message : messages_) {
    const bool changes = look_at_unseen ? unseen.count({message.role, message.content}) > 0 : message.content == kind;
    forms.push_back((changes && message.content != Content::kOther && message.content != Content::kNone) != message.other_form);
  }
  return forms;
}

// Returns true if the template writes a statement in these forms. The forms are kept for the messages that the template then writes.
bool GivenMessages::TakeForms(const std::vector<bool>& forms, Run run) {
  for (size_t i = 0; i < messages_.size(); ++i) messages_[i].other_form = forms[i];
  const absl::StatusOr<std::vector<ChatPiece>> written = Try(run, {.words = true});
  Look(written);
  const std::vector<bool> kept = OtherForms(/*look_at_unseen=*/true, Content::kNone);   // Changes that did not help are undone.
  bool any = false;
  for (size_t i = 0; i < messages_.size(); ++i) {
    messages_[i].other_form = forms[i] && kept[i];
    any = any || messages_[i].other_form;
  }
  return written.ok() && any;
}

absl::StatusOr<std::vector<ChatPiece>> GivenMessages::TryForms(const std::vector<bool>& forms, Run run) {
  for (size_t i = 0; i < messages_.size(); ++i) messages_[i].other_form = forms[i];
  return Try(run, {});
}

absl::StatusOr<std::vector<ChatPiece>> GivenMessages::WriteContents(Run run) {
  for (Message& message : messages_) message.other_form = false;
  absl::StatusOr<std::vector<ChatPiece>> plain = Try(run, {});
  const auto holds_parts = [](const Message& message) { return message.content == Content::kParts; };
  const bool has_parts = std::any_of(messages_.begin(), messages_.end(), holds_parts);
  if (said_.empty() || IsLimit(plain.status()) || (jinja::IsRefusal(plain.status()) && !has_parts)) return plain;
  const absl::StatusOr<std::vector<ChatPiece>> words = Try(run, {.words = true});
  if (Look(words) || (plain.ok() && !words.ok())) return plain;
  const std::vector<Said> seen = said_;
  std::vector<std::vector<bool>> tries;
  if (words.ok()) {
    tries.push_back(OtherForms(/*look_at_unseen=*/true, Content::kNone));
  } else {
    for (const Content kind : {Content::kParts, Content::kText}) tries.push_back(OtherForms(/*look_at_unseen=*/false, kind));
  }
  for (const std::vector<bool>& forms : tries) {
    if (std::find(forms.begin(), forms.end(), true) == forms.end()) continue;
    const bool takes = TakeForms(forms, run);
    absl::StatusOr<std::vector<ChatPiece>> other = takes ? Try(run, {}) : TryForms(forms, run);
    if (takes && other.ok()) return other;
    KeepRefusal(other.status(), plain);
  }
  for (Message& message : messages_) message.other_form = false;
  said_ = seen;
  return plain;
}

std::vector<GivenMessages::FormOfCalls> GivenMessages::OtherFormsOfCalls() const {
  using Nothing = FormOfCalls::Nothing;
  std::vector<Nothing> contents = {Nothing::kAsSent};
  const auto has = [&](bool none) {
    return std::any_of(messages_.begin(), messages_.end(), [&](const Message& each) {
      return each.HasNoContentBesideCalls() && (each.content == Content::kNone) == none;
    });
  };
  if (has(/*none=*/true)) contents.push_back(Nothing::kText);
  if (has(/*none=*/false)) contents.push_back(Nothing::kNone);
  const bool sent = std::any_of(messages_.begin(), messages_.end(), [](const Message& each) { return each.HasSentArguments(); });
  std::vector<FormOfCalls> forms;
  for (const bool sent_arguments : sent ? std::vector<bool>{false, true} : std::vector<bool>{false}) {
    for (const Nothing nothing : contents) forms.push_back({.nothing = nothing, .sent_arguments = sent_arguments});
  }
  forms.erase(forms.begin());   // The first form was tried.
  return forms;
}

bool GivenMessages::WritesCalls(const absl::StatusOr<std::vector<ChatPiece>>& written, Run run) const {
  if (!written.ok()) return false;
  const Said* const left_out = LeftOut(*written, run);
  return left_out == nullptr || left_out->what != Said::What::kCall;
}

absl::StatusOr<std::vector<ChatPiece>> GivenMessages::Write(Run run) {
  absl::StatusOr<std::vector<ChatPiece>> first = WriteContents(run);
  const std::vector<FormOfCalls> forms = OtherFormsOfCalls();
  const bool may_try = first.ok() || (absl::IsInvalidArgument(first.status()) && !jinja::IsRefusal(first.status()));
  if (forms.empty() || !may_try || WritesCalls(first, run)) return first;
  FormOfCalls kept;
  for (const FormOfCalls& form : forms) {
    form_ = form;
    absl::StatusOr<std::vector<ChatPiece>> other = WriteContents(run);
    if (WritesCalls(other, run)) return other;
    KeepRefusal(other.status(), first);
    if (first.ok() || jinja::IsRefusal(first.status()) || !other.ok()) continue;
    first = std::move(other);   // A left-out call tells more than the template's failure.
    kept = form;
  }
  form_ = kept;
  return first.ok() ? WriteContents(run) : first;   // To find the statements that this form leaves out.
}

absl::StatusOr<std::vector<ChatPiece>> GivenMessages::WriteToContinue(absl::Span<const ChatPiece> written, Run run) const {
  const Message& last = messages_.back();
  const std::optional<JsonValue>& whole = last.message->whole;
  if (last.content == Content::kOther) return whole->Value("content")->Error("no text to continue", "a text, or a list of parts");
  if (!last.calls.empty()) return whole->Value(kCalls)->Error("calls in a message to continue", "a message that ends with its content");
  const std::string text = TextOf(written), word = WordNotIn(text);
  ASSIGN_OR_RETURN(std::vector<ChatPiece> pieces, Try(run, {.end = EndMark(word)}));
  const std::string content = last.texts.empty() ? "" : last.texts.back();
  std::optional<std::vector<ChatPiece>> begun = UpToWord(std::move(pieces), word, content);
  if (begun && (IsBlank(content) || absl::StartsWith(text, TextOf(*begun)))) return *std::move(begun);
  constexpr char kFound[] = "a last message that the chat template changes or leaves out";
  constexpr char kExpected[] = "one that it writes as it is, so that it can be continued";
  return whole ? whole->Error(kFound, kExpected) : absl::InvalidArgumentError(absl::StrCat("found ", kFound, ", expected ", kExpected));
}

// Tries each unseen statement alone: a template may have changed the statement, or taken another way for the words.
const GivenMessages::Said* GivenMessages::LeftOut(absl::Span<const ChatPiece> written, Run run) const {
  const std::string text = TextOf(written);
  for (const Said& said : said_) {
    if (said.seen || said.is_blank) continue;
    absl::StatusOr<std::vector<ChatPiece>> without = Try(run, {.changed = &said});
    if (IsLimit(without.status())) return nullptr;   // Further tries would only meet the limit again.
    if (!without.ok() && said.what != Said::What::kCall) without = Try(run, {.changed = &said, .leaves_out_message = true});
    if (without.ok() && TextOf(*without) == text) return &said;
  }
  return nullptr;
}

absl::Status GivenMessages::Error(const Said& said, absl::string_view place) const {
  const ChatMessage& message = *messages_[said.message].message;
  const auto expected = [](absl::string_view what) { return absl::StrCat(what, " that the chat template writes: it leaves this out"); };
  if (!message.whole) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, "found a template that leaves out the content of a message of role ", Quoted(message.role),
                     ", as a text and as a list of parts, expected one that writes it; name "
                     "one of chatml, llama3, gemma and none instead"));
  }
  const std::string found = absl::StrCat("of a message of role ", Quoted(message.role));
  if (said.what == Said::What::kCall) {
    return (*message.whole->Value(kCalls))[static_cast<int64_t>(said.index)].Error(absl::StrCat("a call ", found), expected("calls"));
  }
  const JsonValue content = *message.whole->Value("content");
  const JsonValue part = said.what == Said::What::kPart ? content[static_cast<int64_t>(said.index)] : content;
  return part.Error(absl::StrCat("content ", found), expected("content"));
}

}  // namespace tessera
