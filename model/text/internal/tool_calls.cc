#include "tessera/model/text/internal/tool_calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/message_fields.h"

namespace tessera {
namespace {

constexpr char kFunction[] = "function", kArguments[] = "arguments";

jinja::Value Key(absl::string_view name) { return jinja::Value::String(name); }

absl::StatusOr<jinja::Value> ParsedArguments(const JsonValue& given, int64_t& values_left) {
  ASSIGN_OR_RETURN(const std::string text, given.AsString());
  if (IsBlank(text)) return jinja::Value::Dict({});
  const auto error = [&](const absl::Status& why) {
    const absl::Status named = given.Error(Quoted(text), absl::StrCat("an object as JSON text (", why.message(), ")"));
    return absl::Status(why.code(), named.message());
  };
  const absl::StatusOr<JsonValue> parsed = JsonValue::Parse(text, kArguments, {.max_values = values_left});
  if (!parsed.ok()) return error(parsed.status());
  if (!parsed->is_object()) return error(parsed->Error(JsonKindName(parsed->kind()), "an object"));
  absl::StatusOr<jinja::Value> value = jinja::Value::FromJson(*parsed);
  if (!value.ok()) return error(value.status());
  values_left = std::max<int64_t>(0, values_left - value->weight());
  return value;
}

absl::Status ParseInside(const JsonValue& object, jinja::Mapping& parsed, bool& has_text, int64_t& values_left) {
  const absl::StatusOr<JsonValue> arguments = object.Value(kArguments);
  if (!arguments.ok() || (!arguments->is_string() && !arguments->is_null())) return absl::OkStatus();
  jinja::Value value = jinja::Value::Dict({});   // No arguments, written as null.
  if (arguments->is_string()) {
    ASSIGN_OR_RETURN(value, ParsedArguments(*arguments, values_left));
  }
  parsed.Set(Key(kArguments), std::move(value));
  has_text = true;
  return absl::OkStatus();
}

jinja::Value RenamedIn(const jinja::Value& call, const std::string& name, bool looks_inside) {
  if (call.kind() != jinja::Value::Kind::kMapping) return call;
  jinja::Mapping changed = call.mapping();
  if (const jinja::Value* const function = changed.Find(kFunction); function != nullptr && looks_inside) {
    changed.Set(Key(kFunction), RenamedIn(*function, name, /*looks_inside=*/false));
  } else if (changed.Find("name") != nullptr) {
    changed.Set(Key("name"), jinja::Value::String(name));
  }
  return jinja::Value::Of(std::move(changed));
}

}  // namespace

absl::StatusOr<GivenCall> GivenCall::Of(const JsonValue& call, int64_t& values_left) {
  if (!call.is_object()) return call.Error(JsonKindName(call.kind()), "a call, an object");
  ASSIGN_OR_RETURN(const jinja::Value sent, jinja::Value::FromJson(call));
  jinja::Mapping parsed = sent.mapping();
  bool has_text = false;
  RETURN_IF_ERROR(ParseInside(call, parsed, has_text, values_left));
  if (call.Has(kFunction) && call.Value(kFunction)->is_object()) {
    jinja::Mapping function = parsed.Find(kFunction)->mapping();
    RETURN_IF_ERROR(ParseInside(*call.Value(kFunction), function, has_text, values_left));
    parsed.Set(Key(kFunction), jinja::Value::Of(std::move(function)));
  }
  GivenCall given = {.parsed = jinja::Value::Of(std::move(parsed))};
  if (has_text) given.as_sent = sent;
  return given;
}

jinja::Value Renamed(const jinja::Value& call, const std::string& name) { return RenamedIn(call, name, /*looks_inside=*/true); }

}  // namespace tessera
