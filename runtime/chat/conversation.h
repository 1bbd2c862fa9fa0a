// Turns messages into the tokens that a model continues: through the model's chat template, or raw.
//
//   ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine->model().gguf(), {.system = "You answer in rhymes."}));
//   conversation.AddUser("What is 2 + 2?");
//   ASSIGN_OR_RETURN(std::vector<TokenId> prompt, conversation.Tokens(engine->tokenizer()));
//   conversation.AddAnswer("4");                              // so that the next prompt holds it
//
// Each prompt is the whole dialogue, rendered anew: a template may render the last answer with parts that are left out of earlier answers.
// An Answerer keeps the session's prefix up to the first token that differs.
//
// Threads: thread-compatible.
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

// Options of a conversation.
struct ConversationOptions {
  bool raw = false;                // Continues the last message as written. All other options are ignored.
  // A template by name (ChatTemplate::ByName), which replaces the file's template. Empty: the file's template.
  std::string chat_template = {};
  bool needs_template = false;     // True: a file without a template is an error. False: such a file works as with `raw`.
  std::optional<std::string> system = std::nullopt;   // The system message, which may be empty; nullopt: the template's own.
  std::optional<JsonValue> tools = std::nullopt;          // Tools for the model: a list, in the template's format.
  std::optional<JsonValue> template_args = std::nullopt;  // Further variables of the template, such as enable_thinking: an object.
  // Returns the date, in seconds since 1970, for templates that render a date. The date of a prompt is the date when its last message was
  // added. Null: there is no date, and a template that renders a date is an error.
  std::function<int64_t()> date = nullptr;
  bool continue_last = false;   // The last message is the assistant's, and the model continues the message.
  ChatLimits limits = {};       // Limits of the template's rendering.
};

// A dialogue of messages.
class Conversation {
 public:
  // Creates a dialogue without messages. WrongUsage for an unknown template name, for options that need a template without a template, and
  // for a system message that the template leaves out. An error for an argument that the template does not read. Otherwise the errors of
  // ReadChatTemplate.
  static absl::StatusOr<Conversation> Create(const GgufFile& file, const ConversationOptions& options);

  bool raw() const { return !chat_.has_value(); }
  absl::string_view form() const;  // The template's name, or "raw".

  void Add(ChatMessage message);
  void AddUser(const std::string& text) { Add({"user", text}); }
  void AddAnswer(const std::string& text) { messages_.push_back({"assistant", text}); }
  void DropLast() { messages_.pop_back(); }  // REQUIRES: a message was added.
  void Reset();                              // Drops all messages except the system message.
  const std::vector<ChatMessage>& messages() const { return messages_; }   // The system message comes first, if there is one.
  // Continues an earlier dialogue with `messages`, whose system message stays in use. WrongUsage (system) if the options have another
  // system message, or if the template leaves the system message out. REQUIRES: not raw.
  absl::Status GoOnWith(std::vector<ChatMessage> messages);

  // Replaces all messages by the messages of an earlier dialogue. Also replaces the system message of the options, by the dialogue's or by
  // none. WrongUsage (system) if the template leaves the system message out; then nothing has changed. REQUIRES: not raw.
  absl::Status Replace(std::vector<ChatMessage> messages);
  // Sets the system message of this dialogue and of the next dialogue after Reset. Errors: as Replace. REQUIRES: not raw.
  absl::Status SetSystem(const std::string& text);

  // Returns the dialogue up to the beginning of the model's answer. Raw: returns the last message alone, with special tokens in the text
  // read as special. Errors: the errors of a template that refuses the dialogue. InvalidArgument for a message that the template leaves
  // out. WrongUsage for tools that the template does not read.
  absl::StatusOr<std::vector<TokenId>> Tokens(const Tokenizer& tokenizer) const;
  absl::StatusOr<std::string> Text(const Tokenizer& tokenizer) const;  // Like Tokens, as readable text, BOS included.

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
