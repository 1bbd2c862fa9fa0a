// Turns messages into the tokens that a model continues: in the form of its chat template, or as they are.
//
//   ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine->model().gguf(), {.system = "You answer in rhymes."}));
//   conversation.AddUser("What is 2 + 2?");
//   ASSIGN_OR_RETURN(std::vector<TokenId> prompt, conversation.Tokens(engine->tokenizer()));
//   conversation.AddAnswer("4");                              // so that the next prompt holds it
//
// Each prompt is the whole dialogue, written anew: a template may leave out of earlier answers what it wrote of the last one. An Answerer
// keeps what its session holds up to the first token that differs. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/json.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

struct ConversationOptions {
  bool raw = false;                // The last message is continued as it is; nothing below counts.
  std::string chat_template = {};  // A form by name (ChatTemplate::ByName), whatever the file says; empty: the file's own.
  bool needs_template = false;     // A file without a template is an error. Else it is continued as with `raw`.
  std::optional<std::string> system = std::nullopt;   // The system message, which may be empty; none: the template's own.
  std::optional<JsonValue> tools = std::nullopt;          // What the model may call: a list, as its template takes it.
  std::optional<JsonValue> template_args = std::nullopt;  // An object: further variables of the template, such as enable_thinking.
  // Gives the date, in seconds since 1970, for templates that write it: each prompt has the date at which its last message was added. Null:
  // there is none, and such a template is an error.
  std::function<int64_t()> date = nullptr;
  bool continue_last = false;   // The last message is the assistant's, and goes on.
  ChatLimits limits = {};       // What its template may take.
};

class Conversation {
 public:
  // WrongUsage for an unknown form, for what needs a template where there is none, and for a system message that the template leaves out;
  // an error for an argument that it does not read; otherwise the errors of ReadChatTemplate.
  static absl::StatusOr<Conversation> Create(const GgufFile& file, const ConversationOptions& options);

  bool raw() const { return !chat_.has_value(); }
  absl::string_view form() const;  // The template's name, or "raw".

  void Add(ChatMessage message);
  void AddUser(const std::string& text) { Add({"user", text}); }
  void AddAnswer(const std::string& text) { messages_.push_back({"assistant", text}); }
  void DropLast() { messages_.pop_back(); }  // REQUIRES: a message was added.
  void Reset();                              // Only the system message stays.
  const std::vector<ChatMessage>& messages() const { return messages_; }   // The system message, if there is one, first.
  // Goes on with the messages of an earlier dialogue, and with its system message from then on. WrongUsage (system) if the options say
  // another one, or if the template leaves it out. REQUIRES: not raw.
  absl::Status GoOnWith(std::vector<ChatMessage> messages);

  // Takes the messages of an earlier dialogue in place of all that was said, and its system message, or none, in place of the options'.
  // WrongUsage (system) if the template leaves that out; then nothing has changed. REQUIRES: not raw.
  absl::Status Replace(std::vector<ChatMessage> messages);
  // Sets the system message of this dialogue, and of the next one after Reset. Errors as Replace. REQUIRES: not raw.
  absl::Status SetSystem(const std::string& text);

  // The dialogue up to the beginning of the model's answer. Raw: the last message alone, its special tokens read as such. Errors are those
  // of a template that refuses the dialogue, InvalidArgument for a message that it leaves out, and WrongUsage for tools that it does not
  // read.
  absl::StatusOr<std::vector<TokenId>> Tokens(const Tokenizer& tokenizer) const;
  absl::StatusOr<std::string> Text(const Tokenizer& tokenizer) const;  // The same for people to read, BOS included.

 private:
  Conversation() = default;

  void TakeDate();
  absl::Status CheckOptions() const;
  absl::Status CheckAllIsRead() const;
  absl::StatusOr<std::vector<ChatPiece>> Pieces(const Tokenizer& tokenizer) const;  // REQUIRES: not raw.

  std::optional<ChatTemplate> chat_;  // None: raw.
  ConversationOptions options_;
  std::vector<ChatMessage> messages_;
  std::optional<int64_t> unix_seconds_;   // The date of the next prompt.
};

}  // namespace tessera
