#include "tessera/runtime/chat/conversation.h"

#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"

namespace tessera {
namespace {

// Returns the system message, which is the first message.
std::optional<std::string> SystemOf(const std::vector<ChatMessage>& messages) {
  if (messages.empty() || messages[0].role != "system") return std::nullopt;
  return messages[0].content;
}

}  // namespace

absl::StatusOr<Conversation> Conversation::Create(const GgufFile& file, const ConversationOptions& options) {
  Conversation conversation;
  conversation.options_ = options;
  if (options.raw) return conversation;
  const bool with_tools = options.tools && options.tools->size() > 0;
  const auto needs_form = [&](absl::string_view field) {
    return WrongUsage(field, absl::StrCat("for a model without ", MissingChatTemplate(file)), "chat_template beside it");
  };
  if (!options.chat_template.empty()) {
    absl::StatusOr<ChatTemplate> by_name = ChatTemplate::ByName(options.chat_template);
    RETURN_IF_ERROR(ForField("chat_template", by_name.status()));
    conversation.chat_ = *std::move(by_name);
  } else if (HasChatTemplate(file, with_tools) || options.needs_template) {
    ASSIGN_OR_RETURN(conversation.chat_, ReadChatTemplate(file, with_tools));
  } else if (options.system) {
    return needs_form("system");
  } else if (options.tools || options.template_args) {
    return needs_form(options.tools ? "tools" : "template_args");
  }
  conversation.TakeDate();
  RETURN_IF_ERROR(conversation.CheckOptions());
  conversation.Reset();
  return conversation;
}

void Conversation::TakeDate() {
  if (options_.date) unix_seconds_ = options_.date();
}

void Conversation::Add(ChatMessage message) {
  messages_.push_back(std::move(message));
  TakeDate();
}

// Checks that the template reads the options that apply to all prompts.
absl::Status Conversation::CheckOptions() const {
  if (raw()) return absl::OkStatus();
  if (options_.template_args) RETURN_IF_ERROR(chat_->CheckArguments(*options_.template_args));
  const ChatInput input = {.arguments = options_.template_args, .marks = {"", ""}, .unix_seconds = unix_seconds_,
                           .limits = options_.limits};
  if (!options_.system || !chat_->LeavesOutSystem(input)) return absl::OkStatus();
  return WrongUsage("system", "a system message", "none: the model's chat template leaves it out");
}

// Checks that the template reads the options of one request besides the messages.
absl::Status Conversation::CheckAllIsRead() const {
  if (options_.tools && options_.tools->size() > 0 && !chat_->Reads("tools")) {
    return WrongUsage("tools", "some", "none: the model's chat template does not read them");
  }
  return absl::OkStatus();
}

absl::string_view Conversation::form() const { return raw() ? "raw" : chat_->name(); }

void Conversation::Reset() {
  messages_.clear();
  if (!raw() && options_.system) messages_.push_back({"system", *options_.system});
}

absl::Status Conversation::GoOnWith(std::vector<ChatMessage> messages) {
  const std::optional<std::string> system = SystemOf(messages);
  if (options_.system && options_.system != system) {
    const std::string began = system ? absl::StrCat(Quoted(*system), ", with which the dialogue began, or ") : "";
    return WrongUsage("system", Quoted(*options_.system), absl::StrCat(began, "none, as an earlier dialogue goes on"));
  }
  return Replace(std::move(messages));
}

absl::Status Conversation::Replace(std::vector<ChatMessage> messages) {
  CHECK(!raw()) << "a text has no messages";
  std::optional<std::string> before = std::exchange(options_.system, SystemOf(messages));
  if (absl::Status checked = CheckOptions(); !checked.ok()) {
    options_.system = std::move(before);
    return checked;
  }
  messages_ = std::move(messages);
  TakeDate();
  return absl::OkStatus();
}

absl::Status Conversation::SetSystem(const std::string& text) {
  std::vector<ChatMessage> messages = messages_;
  if (SystemOf(messages)) messages.erase(messages.begin());
  messages.insert(messages.begin(), {"system", text});
  return Replace(std::move(messages));
}

absl::StatusOr<std::vector<ChatPiece>> Conversation::Pieces(const Tokenizer& tokenizer) const {
  return chat_->RenderPieces({.messages = messages_,
                              .continue_last = options_.continue_last,
                              .tools = options_.tools,
                              .arguments = options_.template_args,
                              .marks = MarksOf(tokenizer),
                              .unix_seconds = unix_seconds_,
                              .limits = options_.limits});
}

absl::StatusOr<std::vector<TokenId>> Conversation::Tokens(const Tokenizer& tokenizer) const {
  if (raw()) {
    if (messages_.empty()) return std::vector<TokenId>();
    return EncodeChat(tokenizer, {{messages_.back().content, /*special=*/true}});
  }
  ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, Pieces(tokenizer));
  RETURN_IF_ERROR(CheckAllIsRead());
  return EncodeChat(tokenizer, pieces);
}

absl::StatusOr<std::string> Conversation::Text(const Tokenizer& tokenizer) const {
  std::vector<ChatPiece> pieces;
  if (!raw()) {
    ASSIGN_OR_RETURN(pieces, Pieces(tokenizer));
  } else if (!messages_.empty()) {
    pieces.push_back({messages_.back().content, true});
  }
  std::string text = tokenizer.adds_bos() && !BeginsWithBos(tokenizer, pieces) ? MarksOf(tokenizer).bos.value_or("") : "";
  for (const ChatPiece& piece : pieces) text += piece.text;
  return text;
}

}  // namespace tessera
