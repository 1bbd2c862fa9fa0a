// Turns what a person wrote into the tokens that a model continues: in the form of its chat template, or as it is.
//
//   ASSIGN_OR_RETURN(Conversation conversation, Conversation::FromFlags(engine->model().gguf()));
//   conversation.AddUser("What is 2 + 2?");
//   std::vector<TokenId> prompt = conversation.Tokens(engine->tokenizer());
//   conversation.AddAnswer("4");                              // so that the next prompt holds it
//
// The flags --raw, --chat, --chat_template and --system decide. A model without a template is continued raw, which a line on
// stderr says; an unknown template is an error that says what to do. Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/text/chat_template.h"

namespace tessera {

class Conversation {
 public:
  // InvalidArgument if flags exclude each other; FromFlags asks again.
  static absl::Status CheckFlags();
  static absl::StatusOr<Conversation> FromFlags(const GgufFile& file);

  bool raw() const { return !chat_.has_value(); }
  absl::string_view form() const;  // The template's name, or "raw".

  void AddUser(const std::string& text) { messages_.push_back({"user", text}); }
  void AddAnswer(const std::string& text) { messages_.push_back({"assistant", text}); }
  void DropLast() { messages_.pop_back(); }  // REQUIRES: a message was added.
  void Reset();                              // Only the system message stays.

  // The dialogue up to the beginning of the model's answer. Raw: the last message alone.
  std::vector<TokenId> Tokens(const Tokenizer& tokenizer) const;

 private:
  Conversation() = default;

  std::optional<ChatTemplate> chat_;  // None: raw.
  std::vector<ChatMessage> messages_;
};

}  // namespace tessera
