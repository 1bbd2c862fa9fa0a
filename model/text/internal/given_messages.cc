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

namespace tessera {
namespace {

constexpr char kCalls[] = "tool_calls";
constexpr char kKeyOfParts[] = "tessera-key";   // Where it comes out, the list was printed as such.

// The roles that templates know. Some write them as a part of a mark, "<|user|>", so they count as words of the template: the caller says
// whose turn it is, and none of these makes a mark that ends or lays out a text. Any other role is the user's text.
constexpr absl::string_view kRoles[] = {"system",      "user",        "assistant",     "tool",        "developer", "model", "function",
                                        "observation", "environment", "tool_response", "tool_result", "tool_results", "ipython"};
// Those whose contents are texts or parts, and nothing else.
constexpr absl::string_view kSpeakers[] = {"system", "user", "assistant", "developer"};

template <size_t kSize>
bool IsIn(const absl::string_view (&names)[kSize], absl::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

jinja::Value Key(absl::string_view name) { return jinja::Value::String(name); }
jinja::Value RoleValue(const std::string& role) { return jinja::Value::Of(jinja::Text(role, /*from_data=*/!IsIn(kRoles, role))); }

bool IsBlank(absl::string_view text) { return absl::StripAsciiWhitespace(text).empty(); }
bool IsPart(const JsonValue& element) { return element.Has("type") && element.Value("type")->is_string(); }

// The list of parts, each of which is one.
bool HoldsParts(const JsonValue& content) {
  for (int64_t i = 0; i < content.size(); ++i) {
    if (!IsPart(content[i])) return false;
  }
  return content.is_array();
}

absl::StatusOr<std::string> TextOfPart(const JsonValue& part) {
  ASSIGN_OR_RETURN(const std::string type, part.String("type"));
  if (type != "text") return part.Value("type")->Error(Quoted(type), "\"text\": only text is read here");
  const std::vector<std::string> keys = part.Keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    const JsonValue value = part[static_cast<int64_t>(i)];
    if (keys[i] != "type" && keys[i] != "text" && !value.is_null()) return value.Error("a field of a part", "type and text alone");
  }
  return part.String("text");
}

jinja::Value PartOf(const std::string& text, bool with_key) {
  std::vector<std::pair<std::string, jinja::Value>> entries = {{"type", jinja::Value::String("text")},
                                                               {"text", jinja::Value::String(text)}};
  if (with_key) entries.emplace_back(kKeyOfParts, jinja::Value::String(""));
  return jinja::Value::Dict(std::move(entries));
}

// A call with another name of its function, which stands in it or in its "function".
jinja::Value Renamed(const jinja::Value& call, const std::string& name, bool looks_inside = true) {
  if (call.kind() != jinja::Value::Kind::kMapping) return call;
  jinja::Mapping changed = call.mapping();
  if (const jinja::Value* const function = changed.Find("function"); function != nullptr && looks_inside) {
    changed.Set(Key("function"), Renamed(*function, name, /*looks_inside=*/false));
  } else if (changed.Find("name") != nullptr) {
    changed.Set(Key("name"), jinja::Value::String(name));
  }
  return jinja::Value::Of(std::move(changed));
}

bool TakesEach(const JsonValue&, const std::string&) { return true; }

}  // namespace

std::string TextOf(absl::Span<const ChatPiece> pieces) {
  return absl::StrJoin(pieces, "", [](std::string* out, const ChatPiece& piece) { out->append(piece.text); });
}

absl::StatusOr<GivenMessages> GivenMessages::Of(absl::Span<const ChatMessage> messages) {
  GivenMessages given;
  for (const ChatMessage& message : messages) RETURN_IF_ERROR(given.Add(message));
  return given;
}

absl::Status GivenMessages::Add(const ChatMessage& message) {
  Message added = {.message = &message, .first_said = said_.size()};
  const auto says = [&](Said::What what, size_t index) { said_.push_back({.what = what, .message = messages_.size(), .index = index}); };
  const std::optional<JsonValue>& whole = message.whole;
  if (!whole || (whole->Has("content") && whole->Value("content")->is_string())) {
    added.content = Content::kText;
    added.texts = {message.content};
    if (!IsBlank(message.content)) says(Said::What::kText, 0);
  } else if (whole->Has("content") && !whole->Value("content")->is_null()) {
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
  }
  const int64_t calls = whole && whole->Has(kCalls) && whole->Value(kCalls)->is_array() ? whole->Value(kCalls)->size() : 0;
  for (int64_t i = 0; i < calls; ++i) says(Said::What::kCall, static_cast<size_t>(i));
  added.end_said = said_.size();
  messages_.push_back(std::move(added));
  return absl::OkStatus();
}

// In lower case, as some templates change the case of what they write.
std::string GivenMessages::WordOf(const Said& said) const { return absl::StrCat("tessera-", &said - said_.data(), "-probe"); }

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
    jinja::Value value;
    if (whole && !takes(*whole, keys[i])) continue;
    if (keys[i] == "role") {
      value = RoleValue(message.message->role);
    } else if (keys[i] == "content") {
      ASSIGN_OR_RETURN(value, ContentOf(message, trial));
    } else if (keys[i] == kCalls) {
      ASSIGN_OR_RETURN(value, CallsOf(message, trial));
    } else {
      ASSIGN_OR_RETURN(value, jinja::Value::FromJson((*whole)[static_cast<int64_t>(i)]));
    }
    mapping.Set(Key(keys[i]), std::move(value));
  }
  return jinja::Value::Of(std::move(mapping));
}

absl::StatusOr<jinja::Value> GivenMessages::ContentOf(const Message& message, const Trial& trial) const {
  std::vector<std::string> texts = message.texts;
  for (size_t i = message.first_said; i < message.end_said; ++i) {
    const bool is_changed = trial.words || &said_[i] == trial.changed;
    if (said_[i].what == Said::What::kOther && !trial.words && is_changed) return jinja::Value::None();
    if (is_changed && said_[i].index < texts.size() && said_[i].what != Said::What::kCall) texts[said_[i].index] = WordOf(said_[i]);
  }
  switch (message.content) {
    case Content::kNone: return jinja::Value::None();
    case Content::kOther: return jinja::Value::FromJson(*message.message->whole->Value("content"));
    default: break;
  }
  if ((message.content == Content::kText) != message.other_form) return jinja::Value::String(absl::StrJoin(texts, "\n"));
  std::vector<jinja::Value> parts;
  for (const std::string& text : texts) parts.push_back(PartOf(text, /*with_key=*/trial.words));
  return jinja::Value::List(std::move(parts));
}

absl::StatusOr<jinja::Value> GivenMessages::CallsOf(const Message& message, const Trial& trial) const {
  const JsonValue json = *message.message->whole->Value(kCalls);
  ASSIGN_OR_RETURN(jinja::Value calls, jinja::Value::FromJson(json));
  std::vector<jinja::Value> changed;
  for (size_t i = message.first_said; i < message.end_said; ++i) {
    if (said_[i].what != Said::What::kCall || &said_[i] == trial.changed) continue;
    const jinja::Value& call = calls.items().elements[said_[i].index];
    changed.push_back(trial.words ? Renamed(call, WordOf(said_[i])) : call);
  }
  return json.is_array() ? jinja::Value::List(std::move(changed)) : calls;
}

absl::StatusOr<std::vector<ChatPiece>> GivenMessages::Try(Run run, const Trial& trial) const {
  ASSIGN_OR_RETURN(std::vector<jinja::Value> values, Values(TakesEach, trial));
  return run(std::move(values));
}

bool GivenMessages::Look(const absl::StatusOr<std::vector<ChatPiece>>& written) {
  const std::string text = written.ok() ? absl::AsciiStrToLower(TextOf(*written)) : "";
  const bool prints_lists = absl::StrContains(text, kKeyOfParts);
  bool all = true;
  for (Said& said : said_) {
    const Message& message = messages_[said.message];
    const bool is_list = said.what != Said::What::kCall && (message.content == Content::kParts) != message.other_form;
    said.seen = said.what != Said::What::kOther && !(is_list && prints_lists) && absl::StrContains(text, WordOf(said));
    all = all && said.seen;
  }
  return all;
}

// The forms with those of some messages changed: of all of a kind, or of the roles and kinds of which something was not seen.
std::vector<bool> GivenMessages::OtherForms(bool look_at_unseen, Content kind) const {
  std::set<std::pair<std::string, Content>> unseen;
  for (const Said& said : said_) {
    const Message& message = messages_[said.message];
    if (!said.seen && said.what != Said::What::kCall) unseen.emplace(message.message->role, message.content);
  }
  std::vector<bool> forms;
  for (const Message& message : messages_) {
    const bool changes = look_at_unseen ? unseen.count({message.message->role, message.content}) > 0 : message.content == kind;
    forms.push_back((changes && message.content != Content::kOther && message.content != Content::kNone) != message.other_form);
  }
  return forms;
}

// True if the template writes something in these forms: they are kept for the messages that it writes in them.
bool GivenMessages::TakeForms(const std::vector<bool>& forms, Run run) {
  for (size_t i = 0; i < messages_.size(); ++i) messages_[i].other_form = forms[i];
  const absl::StatusOr<std::vector<ChatPiece>> written = Try(run, {.words = true});
  Look(written);
  const std::vector<bool> kept = OtherForms(/*look_at_unseen=*/true, Content::kNone);   // Those that did not help go back.
  bool any = false;
  for (size_t i = 0; i < messages_.size(); ++i) {
    messages_[i].other_form = forms[i] && kept[i];
    any = any || messages_[i].other_form;
  }
  return written.ok() && any;
}

absl::StatusOr<std::vector<ChatPiece>> GivenMessages::Write(Run run) {
  absl::StatusOr<std::vector<ChatPiece>> plain = Try(run, {});
  if (!plain.ok() && !absl::IsInvalidArgument(plain.status())) return plain;  // A limit, which further tries would only meet again.
  if (said_.empty()) return plain;
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
    if (std::find(forms.begin(), forms.end(), true) == forms.end() || !TakeForms(forms, run)) continue;
    absl::StatusOr<std::vector<ChatPiece>> other = Try(run, {});
    if (other.ok()) return other;
  }
  for (Message& message : messages_) message.other_form = false;
  said_ = seen;
  return plain;
}

// Each thing that was not seen alone: a template may have changed it, or taken another way for the words.
const GivenMessages::Said* GivenMessages::LeftOut(absl::Span<const ChatPiece> written, Run run) const {
  const std::string text = TextOf(written);
  for (const Said& said : said_) {
    if (said.seen) continue;
    absl::StatusOr<std::vector<ChatPiece>> without = Try(run, {.changed = &said});
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
