#include "tessera/runtime/chat/conversation.h"

#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"

namespace tessera {
namespace {

constexpr char kTemplateKey[] = "tokenizer.chat_template";

}  // namespace

absl::StatusOr<Conversation> Conversation::Create(const GgufFile& file, const ConversationOptions& options) {
  Conversation conversation;
  conversation.options_ = options;
  if (options.raw) return conversation;
  const auto needs_form = [](absl::string_view field) {
    return WrongUsage(field, "for a model without chat template", "chat_template beside it");
  };
  if (!options.chat_template.empty()) {
    absl::StatusOr<ChatTemplate> by_name = ChatTemplate::ByName(options.chat_template);
    RETURN_IF_ERROR(ForField("chat_template", by_name.status()));
    conversation.chat_ = *std::move(by_name);
  } else if (file.Find(kTemplateKey) != nullptr || options.needs_template) {
    ASSIGN_OR_RETURN(conversation.chat_, ReadChatTemplate(file));
  } else if (!options.system.empty()) {
    return needs_form("system");
  } else if (options.tools || options.template_args) {
    return needs_form(options.tools ? "tools" : "template_args");
  }
  conversation.Reset();
  return conversation;
}

absl::string_view Conversation::form() const { return raw() ? "raw" : chat_->name(); }

void Conversation::Reset() {
  messages_.clear();
  if (!raw() && !options_.system.empty()) messages_.push_back({"system", options_.system});
}

absl::StatusOr<std::vector<ChatPiece>> Conversation::Pieces(const Tokenizer& tokenizer) const {
  return chat_->RenderPieces({.messages = messages_,
                              .tools = options_.tools,
                              .arguments = options_.template_args,
                              .marks = MarksOf(tokenizer),
                              .unix_seconds = options_.unix_seconds});
}

absl::StatusOr<std::vector<TokenId>> Conversation::Tokens(const Tokenizer& tokenizer) const {
  if (raw()) {
    if (messages_.empty()) return std::vector<TokenId>();
    return EncodeChat(tokenizer, {{messages_.back().content, /*special=*/true}});
  }
  ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, Pieces(tokenizer));
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
