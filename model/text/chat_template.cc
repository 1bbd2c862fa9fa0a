#include "tessera/model/text/chat_template.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/internal/facts.h"

namespace tessera {
namespace {

constexpr size_t kMaxTemplateBytes = size_t{1} << 20;  // The longest in use have some tens of kilobytes.
constexpr char kWayOut[] = "name one of chatml, llama3, gemma and none instead";

struct Known {
  ChatTemplate::Form form;
  absl::string_view name;
  absl::string_view mark;  // A mark that only this form's template writes; empty: chosen by name only, never recognized.
};
constexpr Known kKnown[] = {
    {ChatTemplate::Form::kChatMl, "chatml", "<|im_start|>"},
    {ChatTemplate::Form::kLlama3, "llama3", "<|start_header_id|>"},
    {ChatTemplate::Form::kGemma, "gemma", "<start_of_turn>"},
    {ChatTemplate::Form::kNone, "none", ""},
};

// Reads from `text` to `end` inside one string of a template. Empty if the string (quoted with `quote`, or plain text of the template if
// that is 0) ends before. A backslash keeps the meaning that strings in templates give it.
std::string LiteralUntil(absl::string_view text, absl::string_view end, char quote) {
  std::string literal;
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::StartsWith(text.substr(i), end)) return literal;
    if (quote == 0 ? absl::StartsWith(text.substr(i), "{{") || absl::StartsWith(text.substr(i), "{%") : text[i] == quote) return "";
    const bool escape = quote != 0 && text[i] == '\\' && i + 1 < text.size();
    if (escape) ++i;
    literal.push_back(escape && text[i] == 'n' ? '\n' : escape && text[i] == 't' ? '\t' : text[i]);
  }
  return "";
}

// The system message that a ChatML template writes by itself: the text between the marks of a system turn, if it is one literal and not
// made from a message. A turn ends where the next one begins, so every byte is read once.
std::string FindDefaultSystem(absl::string_view source) {
  constexpr absl::string_view kTurn = "<|im_start|>system";
  for (size_t at = source.find(kTurn), next; at != absl::string_view::npos; at = next) {
    next = source.find(kTurn, at + kTurn.size());
    const char before = at == 0 ? '\0' : source[at - 1];
    const char quote = before == '\'' || before == '"' ? before : '\0';
    absl::string_view rest = source.substr(0, next).substr(at + kTurn.size());
    const absl::string_view line_end = absl::StartsWith(rest, "\n") ? "\n" : "\\n";
    if (!absl::StartsWith(rest, line_end)) continue;
    rest.remove_prefix(line_end.size());
    const std::string found = LiteralUntil(rest, "<|im_end|>", quote);
    if (!found.empty()) return found;
  }
  return "";
}

// Collects pieces; neighbours of one kind become one piece, empty texts none.
class Writer {
 public:
  void Mark(absl::string_view text) { Add(text, true); }
  void Text(absl::string_view text) { Add(text, false); }
  std::vector<ChatPiece> Take() { return std::move(pieces_); }

 private:
  void Add(absl::string_view text, bool special) {
    if (text.empty()) return;
    if (pieces_.empty() || pieces_.back().special != special) pieces_.push_back({"", special});
    absl::StrAppend(&pieces_.back().text, text);
  }
  std::vector<ChatPiece> pieces_;
};

void WriteChatMl(absl::Span<const ChatMessage> messages, absl::string_view default_system, bool prompt, Writer* out) {
  const bool bare = messages.empty() || messages[0].role != "system";
  if (bare && !messages.empty() && !default_system.empty()) {
    out->Mark("<|im_start|>system\n");
    out->Text(default_system);
    out->Mark("<|im_end|>\n");
  }
  for (const ChatMessage& message : messages) {
    out->Mark("<|im_start|>");
    out->Text(message.role);
    out->Mark("\n");
    out->Text(message.content);
    out->Mark("<|im_end|>\n");
  }
  if (prompt) out->Mark("<|im_start|>assistant\n");
}

void WriteLlama3(absl::Span<const ChatMessage> messages, bool prompt, Writer* out) {
  for (const ChatMessage& message : messages) {
    out->Mark("<|start_header_id|>");
    out->Text(message.role);
    out->Mark("<|end_header_id|>\n\n");
    out->Text(absl::StripAsciiWhitespace(message.content));
    out->Mark("<|eot_id|>");
  }
  if (prompt) out->Mark("<|start_header_id|>assistant<|end_header_id|>\n\n");
}

// Gemma has no system turn: a system message goes before the next user's content, or into a turn of its own if none follows.
void WriteGemma(absl::Span<const ChatMessage> messages, bool prompt, Writer* out) {
  std::string system;
  const auto turn = [&](absl::string_view role, absl::string_view before, absl::string_view content) {
    out->Mark("<start_of_turn>");
    out->Text(role);
    out->Mark("\n");
    out->Text(before);
    out->Text(content);
    out->Mark("<end_of_turn>\n");
  };
  for (const ChatMessage& message : messages) {
    const absl::string_view content = absl::StripAsciiWhitespace(message.content);
    if (message.role == "system") {
      absl::StrAppend(&system, message.content, "\n\n");
    } else if (message.role == "assistant") {
      turn("model", "", content);
    } else {
      turn(message.role, std::exchange(system, std::string()), content);
    }
  }
  if (!system.empty()) turn("user", "", absl::StripAsciiWhitespace(system));
  if (prompt) out->Mark("<start_of_turn>model\n");
}

}  // namespace

absl::StatusOr<ChatTemplate> ChatTemplate::FromSource(const ChatTemplateFacts& facts) {
  ASSIGN_OR_RETURN(const absl::string_view source, ValueOr<absl::string_view>(facts.source, ""));
  const auto wrong = [&](const auto&... problem) { return WrongFact(facts.source.place, absl::StrCat(problem..., "; ", kWayOut)); };
  if (source.empty()) return wrong("found none, expected a chat template");
  if (source.size() > kMaxTemplateBytes) return wrong("found ", source.size(), " bytes, expected at most ", kMaxTemplateBytes);
  for (const Known& known : kKnown) {
    if (known.mark.empty() || !absl::StrContains(source, known.mark)) continue;
    ChatTemplate chat(known.form);
    if (known.form == Form::kChatMl) chat.default_system_ = FindDefaultSystem(source);
    return chat;
  }
  return wrong("found a template of ", source.size(),
               " bytes with none of the marks <|im_start|>, <|start_header_id|>, <start_of_turn>, expected one of them");
}

absl::StatusOr<ChatTemplate> ChatTemplate::ByName(absl::string_view name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return ChatTemplate(known.form);
  }
  return WrongUsage("chat_template", Quoted(name), "chatml, llama3, gemma or none");
}

absl::string_view ChatTemplate::name() const {
  for (const Known& known : kKnown) {
    if (known.form == form_) return known.name;
  }
  return "";
}

std::vector<ChatPiece> ChatTemplate::RenderPieces(absl::Span<const ChatMessage> messages, bool add_generation_prompt) const {
  Writer out;
  switch (form_) {
    case Form::kChatMl: WriteChatMl(messages, default_system_, add_generation_prompt, &out); break;
    case Form::kLlama3: WriteLlama3(messages, add_generation_prompt, &out); break;
    case Form::kGemma: WriteGemma(messages, add_generation_prompt, &out); break;
    case Form::kNone:
      for (const ChatMessage& message : messages) out.Text(message.content);
      break;
  }
  return out.Take();
}

std::string ChatTemplate::Render(absl::Span<const ChatMessage> messages, bool add_generation_prompt) const {
  std::string text;
  for (const ChatPiece& piece : RenderPieces(messages, add_generation_prompt)) text += piece.text;
  return text;
}

std::vector<TokenId> EncodeChat(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces) {
  std::string text;
  std::vector<TextRange> literal;
  for (const ChatPiece& piece : pieces) {
    const size_t begin = text.size();
    text += piece.text;
    if (!piece.special && !piece.text.empty()) literal.push_back({begin, text.size()});
  }
  return tokenizer.Encode(text, {.parse_special = true, .add_bos = true, .literal = literal});
}

}  // namespace tessera
