#include "tessera/apps/cli/conversation_flags.h"

#include <utility>

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flag_checks.h"
#include "tessera/apps/cli/output.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

DEFINE_string(system, "", "TEXT|The system message. Without it: the chat template's own.");
DEFINE_bool(raw, false, "|Continue the prompt as it is, without chat template; special tokens in it are read as such.");
DEFINE_bool(chat, false, "|A dialogue: every line is a message. /reset forgets, /exit ends.");
DEFINE_string(chat_template, "", "NAME|chatml, llama3, gemma or none, instead of what the file names.");

namespace tessera {
namespace {

// An error about the file's own template, with the flags that do without it.
absl::Status WithWayOut(const absl::Status& status) {
  if (IsWrongUsage(status)) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), " (--chat_template), or go without (--raw)"));
}

}  // namespace

absl::Status CheckConversationFlags() {
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat", FLAGS_chat));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "chat_template", !FLAGS_chat_template.empty()));
  RETURN_IF_ERROR(CheckNotBoth("raw", FLAGS_raw, "system", !FLAGS_system.empty()));
  return FLAGS_chat_template.empty() ? absl::OkStatus() : ChatTemplate::ByName(FLAGS_chat_template).status();
}

absl::StatusOr<Conversation> ConversationOfFlags(const GgufFile& file) {
  RETURN_IF_ERROR(CheckConversationFlags());
  const ConversationOptions options = {
      .raw = FLAGS_raw, .chat_template = FLAGS_chat_template, .needs_template = FLAGS_chat, .system = FLAGS_system};
  absl::StatusOr<Conversation> conversation = Conversation::Create(file, options);
  if (!conversation.ok()) return WithWayOut(conversation.status());
  if (conversation->raw() && !FLAGS_raw) {
    WriteError("The model has no chat template: the prompt is continued as it is (--raw says so without this note).\n");
  }
  return conversation;
}

}  // namespace tessera
