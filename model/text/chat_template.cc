#include "tessera/model/text/chat_template.h"

#include <algorithm>
#include <utility>

#include <glog/logging.h>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/internal/chat_forms.h"
#include "tessera/model/text/internal/facts.h"
#include "tessera/model/text/internal/given_messages.h"
#include "tessera/model/text/internal/last_message.h"
#include "tessera/model/text/internal/message_fields.h"
#include "tessera/model/text/internal/plain_messages.h"

namespace tessera {
namespace {

constexpr char kProbe[] = "tessera-probe";  // A word that no template writes by itself.
constexpr char kWayOut[] = "name one of chatml, llama3, gemma and none instead";

// Variables of dialogues; arguments have other names.
constexpr absl::string_view kOfDialogues[] = {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"};
// Functions of templates, and a variable that templates always get.
constexpr absl::string_view kOfTemplates[] = {"documents", "range", "namespace", "dict", "raise_exception", "strftime_now", "loop"};

// Tokens that the package transformers also gives to templates, if the model has the tokens. No template in use needs one.
constexpr absl::string_view kTokensNotGiven[] = {"unk_token", "pad_token", "sep_token", "cls_token", "mask_token"};

bool IsIn(absl::Span<const absl::string_view> names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns true if the source has the word, but not as a part of a longer word.
bool HasWord(absl::string_view source, absl::string_view word) {
  const auto is_letter = [&](size_t at) { return at < source.size() && (absl::ascii_isalnum(source[at]) || source[at] == '_'); };
  for (size_t at = source.find(word); at != source.npos; at = source.find(word, at + 1)) {
    if (!is_letter(at - 1) && !is_letter(at + word.size())) return true;  // Before the first character there is no letter, either.
  }
  return false;
}

// Returns true if the source has the word as a separate text, for example in a comparison with a role.
bool HasText(absl::string_view source, absl::string_view word) {
  return absl::StrContains(source, absl::StrCat("'", word, "'")) || absl::StrContains(source, absl::StrCat("\"", word, "\""));
}

absl::Status AddArguments(const JsonValue& arguments, jinja::Variables& variables) {
  if (!arguments.is_object()) return arguments.Error(JsonKindName(arguments.kind()), "an object");
  const std::vector<std::string> names = arguments.Keys();
  for (size_t i = 0; i < names.size(); ++i) {
    if (IsIn(kOfDialogues, names[i])) return arguments.Error(Quoted(names[i]), "names of other variables than those of the dialogue");
    ASSIGN_OR_RETURN(jinja::Value value, jinja::Value::FromJson(arguments[static_cast<int64_t>(i)]));
    variables.emplace_back(names[i], std::move(value));
  }
  return absl::OkStatus();
}

// Returns the variables that the package transformers gives to a template. The texts of marks are the template's own.
absl::StatusOr<jinja::Variables> VariablesOf(const ChatInput& input, std::vector<jinja::Value> messages) {
  jinja::Variables variables;
  if (input.arguments) RETURN_IF_ERROR(AddArguments(*input.arguments, variables));
  jinja::Value tools = jinja::Value::None();
  if (input.tools) {
    ASSIGN_OR_RETURN(tools, jinja::Value::FromJson(*input.tools));
  }
  const auto mark = [&](absl::string_view name, const std::optional<std::string>& text) {
    if (text) variables.emplace_back(name, jinja::Value::Of(jinja::Text(*text, /*from_data=*/false)));
  };
  variables.emplace_back("messages", jinja::Value::List(std::move(messages)));
  variables.emplace_back("tools", std::move(tools));
  variables.emplace_back("documents", jinja::Value::None());
  variables.emplace_back("add_generation_prompt", jinja::Value::Bool(input.add_generation_prompt && !input.continue_last));
  mark("bos_token", input.marks.bos);
  mark("eos_token", input.marks.eos);
  return variables;
}

// Returns true for names of variables that are switches. A text would count as true, regardless of its content.
bool IsSwitch(absl::string_view name) { return name == "thinking" || absl::EndsWith(name, "_thinking"); }

// Returns InvalidArgument for a text, or another value, in place of a boolean.
absl::Status CheckKind(const JsonValue& value, absl::string_view name) {
  if (value.kind() == JsonValue::Kind::kBool) return absl::OkStatus();
  const std::string text = value.is_string() ? *value.AsString() : "", lower = absl::AsciiStrToLower(text);
  const std::string found = value.is_string() ? absl::StrCat("the text ", Quoted(text)) : std::string(JsonKindName(value.kind()));
  if (lower == "true" || lower == "false") return value.Error(found, absl::StrCat("the boolean ", lower, ", without quotes"));
  return IsSwitch(name) ? value.Error(found, "true or false") : absl::OkStatus();
}

absl::Status CheckEndsWithAnswer(absl::Span<const ChatMessage> messages) {
  if (!messages.empty() && messages.back().role == "assistant") return absl::OkStatus();
  const std::string found = messages.empty() ? "no message" : absl::StrCat("a last message of role ", Quoted(messages.back().role));
  return absl::InvalidArgumentError(absl::StrCat("found ", found, " to continue, expected a last message of role \"assistant\""));
}

absl::StatusOr<std::vector<ChatPiece>> RenderForm(absl::string_view form, const ChatInput& input) {
  ASSIGN_OR_RETURN(std::vector<ChatMessage> messages, PlainMessages(input, form));
  if (!input.continue_last) return WriteForm(form, messages, input.add_generation_prompt);
  const std::string content = messages.back().content;
  const std::string word = WordNotIn(TextOf(WriteForm(form, messages, /*add_generation_prompt=*/false)));
  messages.back().content += EndMark(word);
  std::optional<std::vector<ChatPiece>> begun = UpToWord(WriteForm(form, messages, /*add_generation_prompt=*/false), word, content);
  CHECK(begun.has_value()) << "a form writes each content";
  return *std::move(begun);
}

}  // namespace

absl::StatusOr<ChatMessage> ChatMessage::FromJson(const JsonValue& json) {
  ChatMessage message;
  ASSIGN_OR_RETURN(message.role, json.String("role"));
  if (json.Has("content") && json.Value("content")->is_string()) {
    ASSIGN_OR_RETURN(message.content, json.String("content"));
  }
  message.whole = json;
  return message;
}

ChatMarks MarksOf(const Tokenizer& tokenizer) {
  const auto text = [&](std::optional<TokenId> token) {
    return token ? std::optional<std::string>(tokenizer.Piece(*token, /*render_special=*/true)) : std::nullopt;
  };
  return {text(tokenizer.bos()), text(tokenizer.eos())};
}

absl::StatusOr<ChatTemplate> ChatTemplate::FromSource(const ChatTemplateFacts& facts) {
  ASSIGN_OR_RETURN(const absl::string_view source, ValueOr<absl::string_view>(facts.source, ""));
  const auto wrong = [&](absl::string_view problem) { return WrongFact(facts.source.place, absl::StrCat(problem, "; ", kWayOut)); };
  if (source.empty()) return wrong(absl::StrCat("found none", facts.only_others, ", expected a chat template"));
  const absl::Status wrong_place = WrongFact(facts.source.place, "");
  ChatTemplate chat("own");
  chat.place_ = std::string(wrong_place.message());
  absl::StatusOr<jinja::Template> program = jinja::Template::Parse(source);
  if (!program.ok()) return wrong(program.status().message());
  chat.program_ = *std::move(program);
  chat.source_ = std::string(source);
  return chat;
}

absl::StatusOr<ChatTemplate> ChatTemplate::ByName(absl::string_view name) {
  if (IsChatForm(name)) return ChatTemplate(name);
  return WrongUsage("chat_template", Quoted(name), "chatml, llama3, gemma or none");
}

bool ChatTemplate::Reads(absl::string_view variable) const {
  return program_ && program_->MayRead(variable);
}

absl::Status ChatTemplate::CheckArguments(const JsonValue& arguments) const {
  if (!program_) return WrongUsage("template_args", "some", absl::StrCat("none: the form ", name_, " has no place for it"));
  for (const std::string& name : arguments.Keys()) {
    if (IsIn(kOfDialogues, name)) return arguments.Error(Quoted(name), "names of other variables than those of the dialogue");
    if (Reads(name)) {
      RETURN_IF_ERROR(CheckKind(*arguments.Value(name), name));
      continue;
    }
    const std::string known = absl::StrJoin(Arguments(), ", ");
    return arguments.Error(Quoted(name), absl::StrCat("what the chat template reads: ", known.empty() ? "nothing" : known));
  }
  return absl::OkStatus();
}

std::vector<std::string> ChatTemplate::Arguments() const {
  std::vector<std::string> arguments;
  for (const std::string& name : program_ ? program_->names() : std::vector<std::string>()) {
    if (!IsIn(kOfDialogues, name) && !IsIn(kOfTemplates, name)) arguments.push_back(name);
  }
  return arguments;
}

bool ChatTemplate::LeavesOutSystem(const ChatInput& input) const {
  if (!program_) return false;
  const std::vector<ChatMessage> tried = {{"system", kProbe}, {"user", "a"}};
  absl::StatusOr<GivenMessages> given = GivenMessages::Of(tried, {});
  jinja::RenderWork work;
  const auto run = [&](std::vector<jinja::Value> messages) { return Run(input, std::move(messages), work); };
  const absl::StatusOr<std::vector<ChatPiece>> pieces = given->Write(run);
  const GivenMessages::Said* const left_out = pieces.ok() ? given->LeftOut(*pieces, run) : nullptr;
  return left_out != nullptr && left_out->message == 0;
}

absl::StatusOr<std::vector<ChatPiece>> ChatTemplate::RenderPieces(const ChatInput& input) const {
  if (input.continue_last) RETURN_IF_ERROR(CheckEndsWithAnswer(input.messages));
  if (!program_) return RenderForm(name_, input);
  if (input.arguments) RETURN_IF_ERROR(CheckArguments(*input.arguments));
  for (const absl::string_view name : kTokensNotGiven) {
    if (!Reads(name) || (input.arguments && input.arguments->Has(name))) continue;
    return absl::InvalidArgumentError(absl::StrCat(place_, "found the variable ", name, ", expected of the model's tokens bos_token and ",
                                                   "eos_token alone, or template_args with its text"));
  }
  ASSIGN_OR_RETURN(GivenMessages given, GivenMessages::Of(input.messages, {.knows_developer = HasText(source_, "developer")}));
  jinja::RenderWork work;
  absl::Status limit;   // The first limit that a run met, including runs that only search for left-out parts.
  const auto run = [&](std::vector<jinja::Value> messages) {
    absl::StatusOr<std::vector<ChatPiece>> pieces = Run(input, std::move(messages), work);
    if (absl::IsResourceExhausted(pieces.status())) limit.Update(pieces.status());
    return pieces;
  };
  absl::StatusOr<std::vector<ChatPiece>> written = given.Write(run);
  RETURN_IF_ERROR(limit);
  RETURN_IF_ERROR(CheckFields(given, written, run));
  ASSIGN_OR_RETURN(std::vector<ChatPiece> pieces, std::move(written));
  const GivenMessages::Said* const left_out = given.LeftOut(pieces, run);
  RETURN_IF_ERROR(limit);
  if (left_out != nullptr) return given.Error(*left_out, place_);
  return input.continue_last ? given.WriteToContinue(pieces, run) : pieces;
}

absl::StatusOr<std::vector<ChatPiece>> ChatTemplate::Run(const ChatInput& input, std::vector<jinja::Value> messages,
                                                           jinja::RenderWork& work) const {
  ASSIGN_OR_RETURN(const jinja::Variables variables, VariablesOf(input, std::move(messages)));
  const jinja::RenderOptions options = {.max_output_bytes = input.limits.output_bytes, .max_text_bytes = input.limits.memory_bytes,
                                        .clock = input.limits.clock, .work = &work, .unix_seconds = input.unix_seconds};
  absl::StatusOr<std::vector<jinja::Piece>> rendered = program_->Render(variables, options);
  if (!rendered.ok()) {
    return WithMessage(rendered.status(), absl::StrCat(place_, rendered.status().message()));
  }
  std::vector<ChatPiece> pieces;
  for (jinja::Piece& piece : *rendered) pieces.push_back({std::move(piece.text), !piece.from_data});
  return pieces;
}

// A field is an error if the template does not name the field and writes the same without it, since the field then never reaches the model.
// Fields that clients send to any model are no errors. A field that the template names may be left out at its place, as earlier reasoning
// is. The error of an unread field has precedence over the error of a failing template, but not over the template's own refusal.
absl::Status ChatTemplate::CheckFields(const GivenMessages& given, const absl::StatusOr<std::vector<ChatPiece>>& written,
                                       RunFunction run) const {
  absl::Status unread;
  const auto takes = [&](const JsonValue& object, FieldHolder holder, const std::string& key) {
    if (IsKnownField(holder, key) || HasWord(source_, key)) return true;
    if (unread.ok()) unread = UnreadField(object, holder, key);
    return false;
  };
  absl::StatusOr<std::vector<jinja::Value>> values = given.Values(takes);
  if (unread.ok() || !values.ok()) return absl::OkStatus();   // Dialogues without such a field are not rendered again.
  if (!written.ok()) return jinja::IsRefusal(written.status()) ? absl::OkStatus() : unread;
  const absl::StatusOr<std::vector<ChatPiece>> without = run(*std::move(values));
  return without.ok() && TextOf(*without) == TextOf(*written) ? unread : absl::OkStatus();
}

absl::StatusOr<std::string> ChatTemplate::Render(const ChatInput& input) const {
  ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, RenderPieces(input));
  return TextOf(pieces);
}

ChatAbilities ChatTemplate::Abilities() const {
  const auto writes_word = [&](const std::vector<ChatMessage>& messages, const char* tools) {
    ChatInput input = {.messages = messages, .marks = {"", ""}, .unix_seconds = 0};
    if (tools != nullptr) input.tools = *JsonValue::Parse(tools);
    const absl::StatusOr<std::string> text = Render(input);
    return text.ok() && absl::StrContains(*text, kProbe);
  };
  const auto reasoned = JsonValue::Parse(R"({"role": "assistant", "content": "b", "reasoning_content": "tessera-probe"})");
  ChatAbilities abilities;
  abilities.system_turn = writes_word({{"system", kProbe}, {"user", "a"}}, nullptr);
  abilities.tools = program_ && writes_word({{"user", "a"}}, R"([{"type": "function", "function": {"name": "tessera-probe",
      "description": "b", "parameters": {"type": "object", "properties": {}, "required": []}}}])");
  abilities.earlier_reasoning = program_ && writes_word({{"user", "a"}, *ChatMessage::FromJson(*reasoned), {"user", "c"}}, nullptr);
  abilities.arguments = Arguments();
  return abilities;
}

bool BeginsWithBos(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces) {
  const std::string bos = MarksOf(tokenizer).bos.value_or("");
  if (bos.empty() || pieces.empty() || !pieces[0].special) return false;
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(pieces[0].text), bos);
}

std::vector<TokenId> EncodeChat(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces) {
  std::string text;
  std::vector<TextRange> literal;
  for (const ChatPiece& piece : pieces) {
    const size_t begin = text.size();
    text += piece.text;
    if (!piece.special && !piece.text.empty()) literal.push_back({begin, text.size()});
  }
  return tokenizer.Encode(text, {.parse_special = true, .add_bos = !BeginsWithBos(tokenizer, pieces), .literal = literal});
}

}  // namespace tessera
