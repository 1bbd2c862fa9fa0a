// JSON from outside: a text is refused in words that name its place and can be shown, or its values are those that its own writer writes
// again. Depth and number of values are bounded, and each way to ask for a value gives it, or says in words which value was asked for.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/json.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

constexpr char kName[] = "input";
constexpr int64_t kMostValues = 300;
constexpr JsonValue::Limits kLimits = {.max_bytes = 1500, .max_values = kMostValues};

void Write(const JsonValue& value, JsonWriter& json) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull: json.Null(); return;
    case JsonValue::Kind::kBool: json.Bool(*value.AsBool()); return;
    case JsonValue::Kind::kInt: json.Int(*value.AsInt()); return;
    case JsonValue::Kind::kUint: json.Uint(*value.AsUint()); return;
    case JsonValue::Kind::kDouble: json.Double(*value.AsDouble()); return;
    case JsonValue::Kind::kString: json.String(*value.AsString()); return;
    case JsonValue::Kind::kArray:
      json.BeginArray();
      for (int64_t i = 0; i < value.size(); ++i) Write(value[i], json);
      json.EndArray();
      return;
    case JsonValue::Kind::kObject:
      json.BeginObject();
      for (const std::string& key : value.Keys()) Write(*value.Value(key), json.Key(key));
      json.EndObject();
      return;
  }
}

// A number that was written without a fraction may come back as a whole one.
void CheckSame(const JsonValue& a, const JsonValue& b) {
  CHECK(a.kind() == b.kind() || (a.is_number() && b.is_number() && *a.AsDouble() == *b.AsDouble())) << a.Path();
  CHECK_EQ(a.size(), b.size()) << a.Path();
  if (a.is_string()) CHECK(*a.AsString() == *b.AsString()) << a.Path();
  if (a.is_number() && a.kind() == b.kind()) CHECK_EQ(*a.AsDouble(), *b.AsDouble()) << a.Path();
  if (a.kind() == JsonValue::Kind::kInt && a.kind() == b.kind()) CHECK_EQ(*a.AsInt(), *b.AsInt()) << a.Path();
  CHECK(a.Keys() == b.Keys()) << a.Path();
  for (int64_t i = 0; i < a.size(); ++i) CheckSame(a[i], b[i]);
}

// A refusal by a getter: of one kind, or another.
template <typename T>
void CheckGiven(const absl::StatusOr<T>& given, bool expected) {
  CHECK(!expected || given.ok()) << given.status();
  if (!given.ok()) Refused(given.status(), kName).IgnoreError();
}

// Returns how many values there are, this one included.
int64_t Ask(const JsonValue& value, int depth) {
  CHECK_LE(depth, JsonValue::kMaxDepth);
  CheckGiven(value.AsString(), value.is_string());
  CheckGiven(value.AsBool(), value.kind() == JsonValue::Kind::kBool);
  CheckGiven(value.AsInt(), value.kind() == JsonValue::Kind::kInt);
  CheckGiven(value.AsInt(1, 5), false);
  CheckGiven(value.AsUint(), value.kind() == JsonValue::Kind::kUint);
  CheckGiven(value.AsDouble(), value.is_number());
  CheckGiven(value.AsInts(), false);
  CheckGiven(value.AsDoubles(), false);
  CheckGiven(value.AsStrings(), false);
  CHECK(value.is_object() || !value.Has("a"));
  Refused(value.Error("this", "another"), kName).IgnoreError();
  const absl::Status absent = value.String("no such key").status();
  CHECK(absl::IsInvalidArgument(absent)) << absent;
  CHECK(!value.is_object() || *value.IntOr("no such key", 5) == 5);
  for (const std::string& key : value.Keys()) CHECK(value.Has(key) && value.Value(key).ok()) << key;
  int64_t values = 1;
  for (int64_t i = 0; i < value.size(); ++i) values += Ask(value[i], depth + 1);
  return values;
}

std::string Nested(int depth) { return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']'); }

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const absl::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const absl::StatusOr<JsonValue> value = JsonValue::Parse(text, kName, kLimits);
  if (!value.ok()) return Refused(value.status(), kName);
  CHECK_LE(static_cast<int64_t>(text.size()), kLimits.max_bytes);
  CHECK_LE(Ask(*value, 0), kMostValues);
  for (const int indent : {0, 2}) {
    JsonWriter json(indent);
    Write(*value, json);
    const std::string written = std::move(json).Take();
    const absl::StatusOr<JsonValue> again = JsonValue::Parse(written, kName);
    CHECK(again.ok()) << again.status() << " of " << written;
    CheckSame(*value, *again);
  }
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  const std::string texts[] = {
      "", "null", "true", "0", "-0", "-0.0", "1.5e300", "1e400", "1e-400", "18446744073709551615", "18446744073709551616",
      "-9223372036854775808", "-9223372036854775809", "01", "+1", ".5", "1.", "0x1", "NaN", "\"\"", "\"\\u0000\\ud83d\\ude00\\n\\\"\"",
      "\"\\ud83d\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\n\"", "\"open", "[]", "[1,]", "[1 2]", "{}", "{\"a\":1,\"a\":2}",
      "{\"a\":{\"b\":[1,2.5,\"c\",null,true,{\"\":[]}]}}", "{\"a\"}", "{a:1}", "[1,2,3", "1 2", "[\"a\",\"b\"]", "[0.1,2e-3,-5]", "/**/1",
      "\xef\xbb\xbf{}", "{\"\\u0007\":[-1]}", Nested(JsonValue::kMaxDepth - 1), Nested(JsonValue::kMaxDepth + 1),
      "[" + std::string(2 * kMostValues, '0') + "]", absl::StrCat("{\"messages\":[{\"role\":\"user\",\"content\":\"", "ä\\u00e4\\/",
      "\"}]}")};
  std::vector<FuzzSeed> seeds;
  for (const std::string& text : texts) seeds.push_back({absl::StrCat("text_", seeds.size()), text});
  std::string many = "[0";
  for (int i = 0; i < kMostValues; ++i) many += ",1";
  seeds.push_back({"many", many + "]"});
  seeds.push_back({"long", "\"" + std::string(1600, 'a') + "\""});
  return seeds;
}

}  // namespace tessera
