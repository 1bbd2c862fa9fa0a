#include "tessera/model/text/internal/plain_messages.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/internal/message_fields.h"

namespace tessera {
namespace {

bool SaysNothing(const JsonValue& value) { return value.is_null() || (value.is_array() && value.size() == 0); }

absl::Status CheckFields(const JsonValue& message, absl::string_view form) {
  for (const std::string& key : message.Keys()) {
    const bool may_be_unread = IsKnownField(FieldHolder::kMessage, key) && key != "tool_calls";
    if (may_be_unread || SaysNothing(*message.Value(key))) continue;
    return message.Error(Quoted(key), absl::StrCat("role and content alone in the form ", form, DidYouMean(key, {"role", "content"})));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextOfContent(const JsonValue& message, absl::string_view role) {
  if (!message.Has("content") || message.Value("content")->is_null()) {
    RETURN_IF_ERROR(CheckMayLackContent(message, role));
    return std::string();
  }
  const JsonValue content = *message.Value("content");
  if (!content.is_array()) return content.AsString();
  std::vector<std::string> texts;
  for (int64_t i = 0; i < content.size(); ++i) {
    ASSIGN_OR_RETURN(texts.emplace_back(), TextOfPart(content[i]));
  }
  return absl::StrJoin(texts, "\n");
}

}  // namespace

absl::StatusOr<std::vector<ChatMessage>> PlainMessages(const ChatInput& input, absl::string_view form) {
  const std::string expected = absl::StrCat("none: the form ", form, " has no place for it");
  if (input.tools) return WrongUsage("tools", "some", expected);
  if (input.arguments) return WrongUsage("template_args", "some", expected);
  std::vector<ChatMessage> plain;
  for (const ChatMessage& message : input.messages) {
    std::string text = message.content;
    if (message.whole) {
      RETURN_IF_ERROR(CheckFields(*message.whole, form));
      ASSIGN_OR_RETURN(text, TextOfContent(*message.whole, message.role));
    }
    plain.push_back({message.role == "developer" ? "system" : message.role, std::move(text)});
  }
  return plain;
}

}  // namespace tessera
