#include "tessera/model/text/internal/message_fields.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Fields with a meaning of their own, "audio", "function_call" and "custom", are not listed: a template reads such a field, or the field is
// refused.
constexpr absl::string_view kOfMessages[] = {"role",    "content",     "name",      "tool_calls", "tool_call_id",
                                             "refusal", "annotations", "reasoning", "reasoning_content"};
constexpr absl::string_view kOfCalls[] = {"id", "type", "index", "function", "name", "arguments"};
constexpr absl::string_view kOfFunctions[] = {"name", "arguments"};

absl::Span<const absl::string_view> FieldsOf(FieldHolder holder) {
  switch (holder) {
    case FieldHolder::kCall: return kOfCalls;
    case FieldHolder::kFunction: return kOfFunctions;
    default: return kOfMessages;
  }
}

}  // namespace

bool IsKnownField(FieldHolder holder, absl::string_view name) {
  const absl::Span<const absl::string_view> names = FieldsOf(holder);
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status UnreadField(const JsonValue& object, FieldHolder holder, absl::string_view name) {
  const absl::Span<const absl::string_view> names = FieldsOf(holder);
  const std::string nearest = NearestName(name, {names.begin(), names.end()});
  return object.Error(Quoted(name), absl::StrCat("fields that the chat template reads",
                                                 nearest.empty() ? "" : absl::StrCat("; did you mean ", Quoted(nearest), "?")));
}

bool HoldsParts(const JsonValue& content) {
  for (int64_t i = 0; i < content.size(); ++i) {
    if (!content[i].Has("type") || !content[i].Value("type")->is_string()) return false;
  }
  return content.is_array();
}

absl::StatusOr<std::string> TextOfPart(const JsonValue& part) {
  ASSIGN_OR_RETURN(const std::string type, part.String("type"));
  if (type != "text") return part.Value("type")->Error(Quoted(type), "\"text\": only text is read here");
  const std::vector<std::string> keys = part.Keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    const JsonValue value = part[static_cast<int64_t>(i)];
    if (keys[i] == "type" || keys[i] == "text" || value.is_null()) continue;
    return value.Error("a field of a part", absl::StrCat("type and text alone", DidYouMean(keys[i], {"type", "text"})));
  }
  return part.String("text");
}

absl::Status CheckMayLackContent(const JsonValue& message, absl::string_view role) {
  if (role != "user" && role != "system" && role != "developer") return absl::OkStatus();
  constexpr char kExpected[] = "a text, or a list of parts";
  return message.Has("content") ? message.Value("content")->Error("null", kExpected)
                                : message.Error("no content", absl::StrCat("a content, ", kExpected));
}

bool IsBlank(absl::string_view text) { return absl::StripAsciiWhitespace(text).empty(); }

}  // namespace tessera
