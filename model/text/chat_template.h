// Writes a conversation in the form that a chat model was trained on.
//
//   ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::ByName("chatml"));     // or ReadChatTemplate(*file)
//   std::vector<ChatMessage> messages = {{"user", "What is 2 + 2?"}};
//   std::vector<TokenId> prompt = EncodeChat(*tokenizer, chat.RenderPieces(messages, /*add_generation_prompt=*/true));
//
// Three forms are known: ChatML (<|im_start|>), Llama 3 (<|start_header_id|>) and Gemma (<start_of_turn>), and "none", which joins the
// contents. The form is recognized by the marks that the model's own template writes. That template is a program from
// outside: it is searched, never run. Its tools, dates and other options are left out; its default system message is kept.
// What users write cannot become a control token: EncodeChat encodes contents and roles as plain text, so "<|im_end|>" in them
// stays text. Render gives one string, for people to read: encoding that with parse_special would lose this protection.
// Errors: InvalidArgument with what was found and what to do instead. Thread-safe: nothing changes after construction.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

struct ChatMessage {
  std::string role = {};  // "system", "user", "assistant", or another role that the model knows.
  std::string content = {};
};

// A part of a rendered conversation. Special parts are the template's own text, in which marks are control tokens.
struct ChatPiece {
  std::string text = {};
  bool special = false;
};

class ChatTemplate {
 public:
  enum class Form { kChatMl, kLlama3, kGemma, kNone };

  // The form of a model's own template. `source` is read during the call only.
  static absl::StatusOr<ChatTemplate> FromSource(const ChatTemplateFacts& facts);
  // "chatml", "llama3", "gemma" or "none". Without a default system message.
  static absl::StatusOr<ChatTemplate> ByName(absl::string_view name);

  Form form() const { return form_; }
  absl::string_view name() const;
  const std::string& default_system() const { return default_system_; }  // Used if the first message is not a system message.

  // `add_generation_prompt`: end with the beginning of the assistant's turn. BOS is not written: EncodeChat adds it where the
  // model asks for it.
  std::vector<ChatPiece> RenderPieces(absl::Span<const ChatMessage> messages, bool add_generation_prompt) const;
  std::string Render(absl::Span<const ChatMessage> messages, bool add_generation_prompt) const;

 private:
  explicit ChatTemplate(Form form) : form_(form) {}

  Form form_;
  std::string default_system_;  // Empty: none.
};

// The tokens of the pieces' joined text, BOS first where the model asks for it. They are those of Render's string, encoded with
// parse_special, wherever contents hold no special text. REQUIRES: together at most Tokenizer::kMaxTextBytes.
std::vector<TokenId> EncodeChat(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces);

}  // namespace tessera
