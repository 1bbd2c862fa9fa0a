// The fields of messages as clients send messages: the fields that may stay unread, and the texts of contents.
//
//   if (!IsKnownField(FieldHolder::kMessage, "nam")) return UnreadField(message, FieldHolder::kMessage, "nam");   // did you mean "name"?
//   if (HoldsParts(content)) ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOfParts(content));
//
// Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"

namespace tessera {

enum class FieldHolder { kMessage, kCall, kFunction };   // A message, a tool call in a message, the function of a call.

// Returns true if clients send a field of this name to any model, so that a template need not read the field.
bool IsKnownField(FieldHolder holder, absl::string_view name);

// Returns the error of a field that neither clients send to any model nor the chat template reads. The error names the nearest known name.
absl::Status UnreadField(const JsonValue& object, FieldHolder holder, absl::string_view name);

// Returns true if a content is a list of objects with a "type".
bool HoldsParts(const JsonValue& content);

// Returns the text of a part. Returns InvalidArgument for a part of another type, or a part with another field.
absl::StatusOr<std::string> TextOfPart(const JsonValue& part);

// Returns the error of a message without a content whose role needs one; OK for other roles. The assistant's message may call a tool
// instead, or refuse.
absl::Status CheckMayLackContent(const JsonValue& message, absl::string_view role);

bool IsBlank(absl::string_view text);

}  // namespace tessera
