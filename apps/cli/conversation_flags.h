// From --raw, --chat, --chat_template and --system to the form that messages get.
//
//   ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine->file()));
//
// Threads: one at a time.
#pragma once

#include <gflags/gflags_declare.h>

#include "absl/status/statusor.h"
#include "tessera/runtime/chat/conversation.h"

DECLARE_string(system);
DECLARE_bool(raw);
DECLARE_bool(chat);
DECLARE_string(chat_template);

namespace tessera {

// WrongUsage if flags exclude each other, or a template is unknown.
absl::Status CheckConversationFlags();

// A model without a template is continued raw, which a line on stderr says, unless --chat needs one.
absl::StatusOr<Conversation> ConversationOfFlags(const GgufFile& file);

}  // namespace tessera
