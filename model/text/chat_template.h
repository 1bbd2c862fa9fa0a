// Writes a conversation in the form that a chat model was trained on, by the template in the model's file.
//
//   ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::ByName("chatml"));     // or ReadChatTemplate(*file)
//   std::vector<ChatMessage> messages = {{"user", "What is 2 + 2?"}};
//   ASSIGN_OR_RETURN(std::vector<ChatPiece> pieces, chat.RenderPieces({.messages = messages, .marks = MarksOf(*tokenizer)}));
//   std::vector<TokenId> prompt = EncodeChat(*tokenizer, pieces);
//
// A file's template is a program in Jinja. model/text/jinja runs the program within limits. The program may refuse a dialogue; its errors
// name file, key and line. Four forms need no template and are chosen by name: ChatML (<|im_start|>), Llama 3 (<|start_header_id|>), Gemma
// (<start_of_turn>), and "none", which joins the contents. Text that users write cannot become a control token: pieces mark the template's
// own bytes. EncodeChat encodes all other bytes, such as contents and tools, as plain text. "<|im_end|>" in user text stays text. A role
// that templates know ("user") counts as a word of the template, which may be a part of a mark ("<|user|>"). Any other role is plain text.
// Render returns one string for people to read: encoding the string with parse_special would lose this protection.
//
// Everything in a message is either written or named by an error. A content has the form that the template takes: a text or a list of parts
// (of type "text"; any other type is an error). Messages may be as clients send them: arguments of calls as JSON text, null for fields
// without a value, and fields that the template does not read. Arguments that the template does not read are errors.
//
// Errors: InvalidArgument (found, advice); ResourceExhausted for a limit. Threads: thread-safe, nothing changes after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/json.h"
#include "tessera/model/text/jinja/template.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

struct ChatMessage {
  std::string role = {};  // "system", "user", "assistant", or another role that the model knows.
  std::string content = {};
  // The message as JSON, with other fields that a template reads: tool_calls, reasoning_content, ... Role and content then come from this
  // JSON.
  std::optional<JsonValue> whole = std::nullopt;

  // Reads a message: an object with a "role". The "content" is a text in most messages, or a list of parts, {"type": "text", "text":
  // "..."}. A template may take other types, too.
  static absl::StatusOr<ChatMessage> FromJson(const JsonValue& json);
};

// The texts of a model's tokens that templates write by name; nullopt: the model has no such token.
struct ChatMarks {
  std::optional<std::string> bos = std::nullopt;
  std::optional<std::string> eos = std::nullopt;
};
ChatMarks MarksOf(const Tokenizer& tokenizer);

// Limits for the rendering of one dialogue, over all runs of the template.
struct ChatLimits {
  int64_t output_bytes = jinja::RenderOptions().max_output_bytes;
  int64_t memory_bytes = jinja::RenderOptions().max_text_bytes;   // Texts and lists that one run makes.
  const Clock* clock = nullptr;                                   // For jinja::RenderOptions::max_nanos; null: the real clock.
};

struct ChatInput {
  absl::Span<const ChatMessage> messages = {};
  bool add_generation_prompt = true;                    // End with the start of the assistant's turn.
  // End with the content of the last message, the assistant's, which the model continues.
  bool continue_last = false;
  std::optional<JsonValue> tools = std::nullopt;        // Tools that the model may call: a list, as the template takes it.
  std::optional<JsonValue> arguments = std::nullopt;    // An object: further variables of the template, such as enable_thinking.
  ChatMarks marks = {};
  std::optional<int64_t> unix_seconds = std::nullopt;   // The date, for templates that write it.
  ChatLimits limits = {};
};

// A part of a rendered conversation. Special parts are the template's own text. Marks in special parts are control tokens.
struct ChatPiece {
  std::string text = {};
  bool special = false;
};

// Abilities of a template, found by trying the template.
struct ChatAbilities {
  bool system_turn = false;                  // The template writes a system message.
  bool tools = false;
  bool earlier_reasoning = false;            // The template writes the reasoning_content of an answer before the last question.
  std::vector<std::string> arguments = {};   // Variables beyond the dialogue that the template reads, such as enable_thinking.
};

class GivenMessages;

class ChatTemplate {
 public:
  // Makes a model's own template. `facts.source` is read during the call only.
  static absl::StatusOr<ChatTemplate> FromSource(const ChatTemplateFacts& facts);
  // Makes "chatml", "llama3", "gemma" or "none".
  static absl::StatusOr<ChatTemplate> ByName(absl::string_view name);

  absl::string_view name() const { return name_; }  // "own" for a model's own template.

  // The pieces hold BOS if the template writes BOS. EncodeChat adds BOS if only the model asks for BOS. Returns InvalidArgument for a
  // content or a tool call that the template leaves out, and for a last message that cannot be continued.
  absl::StatusOr<std::vector<ChatPiece>> RenderPieces(const ChatInput& input) const;
  absl::StatusOr<std::string> Render(const ChatInput& input) const;

  ChatAbilities Abilities() const;
  bool Reads(absl::string_view variable) const;  // Such as "tools".
  // Returns true if the template has no system turn but does not refuse a system message: the template writes the rest of the input without
  // the system message.
  bool LeavesOutSystem(const ChatInput& input) const;
  absl::Status CheckArguments(const JsonValue& arguments) const;  // InvalidArgument for an argument that the template does not read.

 private:
  explicit ChatTemplate(absl::string_view name) : name_(name) {}

  std::vector<std::string> Arguments() const;  // As ChatAbilities::arguments.
  using RunFunction = absl::FunctionRef<absl::StatusOr<std::vector<ChatPiece>>(std::vector<jinja::Value> messages)>;
  absl::StatusOr<std::vector<ChatPiece>> Run(const ChatInput& input, std::vector<jinja::Value> messages, jinja::RenderWork& work) const;
  absl::Status CheckFields(const GivenMessages& given, const absl::StatusOr<std::vector<ChatPiece>>& written, RunFunction run) const;

  std::string name_;
  std::string place_;                        // Place of the template, at the start of errors.
  std::optional<jinja::Template> program_;   // nullopt: a form by name.
  std::string source_;                       // The program's source, to find the names that it uses.
};

// Returns true if the template wrote BOS, so that the model gets no second BOS.
bool BeginsWithBos(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces);

// Returns the tokens of the pieces' joined text. BOS comes first if the model asks for BOS or the template writes BOS, and never twice. The
// tokens equal Render's string encoded with parse_special, if contents hold no special text. REQUIRES: the pieces have together at most
// Tokenizer::kMaxTextBytes.
std::vector<TokenId> EncodeChat(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces);

}  // namespace tessera
