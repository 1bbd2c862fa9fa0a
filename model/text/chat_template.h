// Writes a conversation in the form that a chat model was trained on: as the template in its file says.
//
//   ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::ByName("chatml"));     // or ReadChatTemplate(*file)
//   std::vector<ChatMessage> messages = {{"user", "What is 2 + 2?"}};
//   ASSIGN_OR_RETURN(std::vector<ChatPiece> pieces, chat.RenderPieces({.messages = messages, .marks = MarksOf(*tokenizer)}));
//   std::vector<TokenId> prompt = EncodeChat(*tokenizer, pieces);
//
// The template of a file is a program in Jinja, which model/text/jinja runs within limits: it may refuse a dialogue, and its errors name
// file, key and line. Four forms need no template, and are chosen by name: ChatML (<|im_start|>), Llama 3 (<|start_header_id|>),
// Gemma (<start_of_turn>), and "none", which joins the contents.
// What users write cannot become a control token: pieces say which bytes are the template's own, and EncodeChat encodes all others, such
// as contents and tools, as plain text. "<|im_end|>" in them stays text. A role that templates know ("user") counts as a word of the
// template, which may be a part of its marks ("<|user|>"); any other is plain text. Render gives one string, for people to read: encoding
// that with parse_special would lose this protection.
// Whatever messages say is written, or is an error that names it: a content is given as the template takes it, as a text or as a list of
// parts (of type "text"; any other is an error). Messages may be as clients send them: arguments of calls as JSON text, a null for each
// field without a value, fields that the template does not read. Arguments that the template does not read are errors.
// Errors: InvalidArgument with what was found and what to do instead, ResourceExhausted for a limit. Thread-safe: nothing changes after
// construction.
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
  // The message as JSON, with whatever else a template reads: tool_calls, reasoning_content, ... Role and content are then those in it.
  std::optional<JsonValue> whole = std::nullopt;

  // An object with a "role". Its "content" is text in most, or a list of parts, {"type": "text", "text": "..."}; a template may take other
  // kinds, too.
  static absl::StatusOr<ChatMessage> FromJson(const JsonValue& json);
};

// The texts of a model's tokens that templates write by name; none: the model has no such token.
struct ChatMarks {
  std::optional<std::string> bos = std::nullopt;
  std::optional<std::string> eos = std::nullopt;
};
ChatMarks MarksOf(const Tokenizer& tokenizer);

// What the rendering of one dialogue may take, in all runs of the template that this needs.
struct ChatLimits {
  int64_t output_bytes = jinja::RenderOptions().max_output_bytes;
  int64_t memory_bytes = jinja::RenderOptions().max_text_bytes;   // Texts and lists that one run makes on the way.
  const Clock* clock = nullptr;                                   // For jinja::RenderOptions::max_nanos; null: the real one.
};

struct ChatInput {
  absl::Span<const ChatMessage> messages = {};
  bool add_generation_prompt = true;                    // End with the beginning of the assistant's turn.
  bool continue_last = false;                           // End with the last message's content, the assistant's, which goes on.
  std::optional<JsonValue> tools = std::nullopt;        // What the model may call: a list, as its template takes it.
  std::optional<JsonValue> arguments = std::nullopt;    // An object: further variables of the template, such as enable_thinking.
  ChatMarks marks = {};
  std::optional<int64_t> unix_seconds = std::nullopt;   // The date, for templates that write it.
  ChatLimits limits = {};
};

// A part of a rendered conversation. Special parts are the template's own text, in which marks are control tokens.
struct ChatPiece {
  std::string text = {};
  bool special = false;
};

// What a template does with a dialogue, as trying it shows.
struct ChatAbilities {
  bool system_turn = false;                  // It writes a system message.
  bool tools = false;
  bool earlier_reasoning = false;            // It writes the reasoning_content of an answer before the last question.
  std::vector<std::string> arguments = {};   // Variables beyond the dialogue that it reads, such as enable_thinking.
};

class GivenMessages;

class ChatTemplate {
 public:
  // A model's own template. `source` is read during the call only.
  static absl::StatusOr<ChatTemplate> FromSource(const ChatTemplateFacts& facts);
  // "chatml", "llama3", "gemma" or "none".
  static absl::StatusOr<ChatTemplate> ByName(absl::string_view name);

  absl::string_view name() const { return name_; }  // "own" for a model's own.

  // BOS is in it where the template writes it: EncodeChat adds it where only the model asks for it. InvalidArgument for a content or a call
  // of a tool that the template leaves out, and for a last message that cannot be continued.
  absl::StatusOr<std::vector<ChatPiece>> RenderPieces(const ChatInput& input) const;
  absl::StatusOr<std::string> Render(const ChatInput& input) const;

  ChatAbilities Abilities() const;
  bool Reads(absl::string_view variable) const;  // Such as "tools".
  // It has no system turn, and does not refuse a system message, either: with the rest of this input it writes all but that.
  bool LeavesOutSystem(const ChatInput& input) const;
  absl::Status CheckArguments(const JsonValue& arguments) const;  // InvalidArgument for one that it does not read.

 private:
  explicit ChatTemplate(absl::string_view name) : name_(name) {}

  std::vector<std::string> Arguments() const;  // As ChatAbilities::arguments.
  using RunFunction = absl::FunctionRef<absl::StatusOr<std::vector<ChatPiece>>(std::vector<jinja::Value> messages)>;
  absl::StatusOr<std::vector<ChatPiece>> Run(const ChatInput& input, std::vector<jinja::Value> messages, jinja::RenderWork& work) const;
  absl::Status CheckFields(const GivenMessages& given, const absl::StatusOr<std::vector<ChatPiece>>& written, RunFunction run) const;

  std::string name_;
  std::string place_;                        // Where the template stands, as errors begin.
  std::optional<jinja::Template> program_;   // None: a form by name.
  std::string source_;                       // The program's, to see what it names.
};

// The template wrote BOS, so the model gets no other one.
bool BeginsWithBos(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces);

// The tokens of the pieces' joined text, BOS first where the model asks for it or the template writes it, and never twice. They are those
// of Render's string, encoded with parse_special, wherever contents hold no special text. REQUIRES: together at most
// Tokenizer::kMaxTextBytes.
std::vector<TokenId> EncodeChat(const Tokenizer& tokenizer, absl::Span<const ChatPiece> pieces);

}  // namespace tessera
