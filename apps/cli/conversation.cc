#include "tessera/apps/cli/conversation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"

namespace tessera {
namespace {

constexpr char kTemplateKey[] = "tokenizer.chat_template";

}  // namespace

absl::Status Conversation::CheckFlags() {
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat", FLAGS_chat));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat_template", !FLAGS_chat_template.empty()));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "system", !FLAGS_system.empty()));
  if (FLAGS_chat_template.empty()) return absl::OkStatus();
  return ForField("chat_template", ChatTemplate::ByName(FLAGS_chat_template).status());
}

absl::StatusOr<Conversation> Conversation::FromFlags(const GgufFile& file) {
  RETURN_IF_ERROR(CheckFlags());
  Conversation conversation;
  if (FLAGS_raw) return conversation;
  if (!FLAGS_chat_template.empty()) {
    ASSIGN_OR_RETURN(conversation.chat_, ChatTemplate::ByName(FLAGS_chat_template));
  } else if (file.Find(kTemplateKey) != nullptr || FLAGS_chat) {
    absl::StatusOr<ChatTemplate> of_file = ReadChatTemplate(file);
    if (!of_file.ok()) {
      return absl::Status(of_file.status().code(), absl::StrCat(of_file.status().message(), " (--chat_template), or go without (--raw)"));
    }
    conversation.chat_ = *std::move(of_file);
  } else if (!FLAGS_system.empty()) {
    return WrongUsage("system", "for a model without chat template", "--chat_template= beside it");
  } else {
    WriteError("The model has no chat template: the prompt is continued as it is (--raw says so without this note).\n");
  }
  conversation.Reset();
  return conversation;
}

absl::string_view Conversation::form() const { return raw() ? "raw" : chat_->name(); }

void Conversation::Reset() {
  messages_.clear();
  if (!raw() && !FLAGS_system.empty()) messages_.push_back({"system", FLAGS_system});
}

std::vector<TokenId> Conversation::Tokens(const Tokenizer& tokenizer) const {
  if (!raw()) return EncodeChat(tokenizer, chat_->RenderPieces(messages_, /*add_generation_prompt=*/true));
  if (messages_.empty()) return {};
  return tokenizer.Encode(messages_.back().content, {.parse_special = true, .add_bos = true});
}

}  // namespace tessera
