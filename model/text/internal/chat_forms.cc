#include "tessera/model/text/internal/chat_forms.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

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

void WriteChatMl(absl::Span<const ChatMessage> messages, bool prompt, Writer* out) {
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

// Writes Gemma's form, which has no system turn: a system message goes before the next user's content, or into a separate turn if none
// follows.
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

void WriteContents(absl::Span<const ChatMessage> messages, bool, Writer* out) {
  for (const ChatMessage& message : messages) out->Text(message.content);
}

struct Form {
  absl::string_view name;
  void (*write)(absl::Span<const ChatMessage> messages, bool prompt, Writer* out);
};
constexpr Form kForms[] = {{"chatml", WriteChatMl}, {"llama3", WriteLlama3}, {"gemma", WriteGemma}, {"none", WriteContents}};

}  // namespace

bool IsChatForm(absl::string_view name) {
  for (const Form& form : kForms) {
    if (form.name == name) return true;
  }
  return false;
}

std::vector<ChatPiece> WriteForm(absl::string_view name, absl::Span<const ChatMessage> messages, bool add_generation_prompt) {
  Writer out;
  for (const Form& form : kForms) {
    if (form.name == name) form.write(messages, add_generation_prompt, &out);
  }
  return out.Take();
}

}  // namespace tessera
