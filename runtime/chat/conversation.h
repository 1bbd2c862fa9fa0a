// Turns messages into the tokens that a model continues: in the form of its chat template, or as they are.
//
//   ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine->model().gguf(), {.system = "You answer in rhymes."}));
//   conversation.AddUser("What is 2 + 2?");
//   std::vector<TokenId> prompt = conversation.Tokens(engine->tokenizer());
//   conversation.AddAnswer("4");                              // so that the next prompt holds it
//
// Thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

struct ConversationOptions {
  bool raw = false;                // The last message is continued as it is; nothing below counts.
  std::string chat_template = {};  // A form by name (ChatTemplate::ByName), whatever the file says; empty: the file's own.
  bool needs_template = false;     // A file without a template is an error. Else it is continued as with `raw`.
  std::string system = {};         // The system message; empty: the template's own.
};

class Conversation {
 public:
  // WrongUsage for an unknown form, or for a system message without a form; otherwise the errors of ReadChatTemplate.
  static absl::StatusOr<Conversation> Create(const GgufFile& file, const ConversationOptions& options);

  bool raw() const { return !chat_.has_value(); }
  absl::string_view form() const;  // The template's name, or "raw".

  void AddUser(const std::string& text) { messages_.push_back({"user", text}); }
  void AddAnswer(const std::string& text) { messages_.push_back({"assistant", text}); }
  void DropLast() { messages_.pop_back(); }  // REQUIRES: a message was added.
  void Reset();                              // Only the system message stays.

  // The dialogue up to the beginning of the model's answer. Raw: the last message alone, its special tokens read as such.
  std::vector<TokenId> Tokens(const Tokenizer& tokenizer) const;

 private:
  Conversation() = default;

  std::optional<ChatTemplate> chat_;  // None: raw.
  std::string system_;
  std::vector<ChatMessage> messages_;
};

}  // namespace tessera
