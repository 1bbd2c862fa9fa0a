// The fields of messages as clients send them: which may stay unread, and the texts of their contents.
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

enum class FieldHolder { kMessage, kCall, kFunction };   // A message, a call of a tool in it, the function of a call.

// Returns whether clients send a field of this name to any model, so that a template need not read it.
bool IsKnownField(FieldHolder holder, absl::string_view name);

// Returns the error of a field that neither clients send to any model nor the chat template reads. The known name that is nearest is named.
absl::Status UnreadField(const JsonValue& object, FieldHolder holder, absl::string_view name);

// Returns whether a content is a list of objects with a "type".
bool HoldsParts(const JsonValue& content);

// Returns the text of a part. InvalidArgument for a part of another type, and for another field in it.
absl::StatusOr<std::string> TextOfPart(const JsonValue& part);

// Returns the error of a message without a content whose role needs one; OK for other roles. The assistant's may call a tool, or refuse.
absl::Status CheckMayLackContent(const JsonValue& message, absl::string_view role);

bool IsBlank(absl::string_view text);

}  // namespace tessera
