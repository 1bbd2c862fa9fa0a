// Converts messages for the named forms: roles and texts alone.
//
//   ASSIGN_OR_RETURN(const std::vector<ChatMessage> plain, PlainMessages(input, "chatml"));
//
// Parts of a content become one text, a line each. "developer" becomes "system". A missing content becomes an empty text. Returns
// InvalidArgument for data without a place in the forms: tools, arguments, tool calls, fields that clients do not send to any model.
// Thread-safe (a pure function).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/chat_template.h"

namespace tessera {

absl::StatusOr<std::vector<ChatMessage>> PlainMessages(const ChatInput& input, absl::string_view form);

}  // namespace tessera
