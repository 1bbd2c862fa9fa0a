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
  if (options.raw) return conversation;
  if (!options.chat_template.empty()) {
    absl::StatusOr<ChatTemplate> by_name = ChatTemplate::ByName(options.chat_template);
    RETURN_IF_ERROR(ForField("chat_template", by_name.status()));
    conversation.chat_ = *std::move(by_name);
  } else if (file.Find(kTemplateKey) != nullptr || options.needs_template) {
    ASSIGN_OR_RETURN(conversation.chat_, ReadChatTemplate(file));
  } else if (!options.system.empty()) {
    return WrongUsage("system", "for a model without chat template", "chat_template beside it");
  }
  conversation.system_ = options.system;
  conversation.Reset();
  return conversation;
}

absl::string_view Conversation::form() const { return raw() ? "raw" : chat_->name(); }

void Conversation::Reset() {
  messages_.clear();
  if (!raw() && !system_.empty()) messages_.push_back({"system", system_});
}

std::vector<TokenId> Conversation::Tokens(const Tokenizer& tokenizer) const {
  if (!raw()) return EncodeChat(tokenizer, chat_->RenderPieces(messages_, /*add_generation_prompt=*/true));
  if (messages_.empty()) return {};
  return tokenizer.Encode(messages_.back().content, {.parse_special = true, .add_bos = true});
}

}  // namespace tessera
