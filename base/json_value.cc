#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/internal/json_document.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {

std::string ShownJson(absl::string_view text) {
  constexpr size_t kLongest = 60;
  return text.size() <= kLongest ? Printable(absl::Utf8SafeCHexEscape(text))   // U+009B controls a terminal, too.
                                 : absl::StrCat(absl::CHexEscape(text.substr(0, kLongest)), "...");
}

const JsonValue::Node& JsonValue::node() const { return document_->nodes[index_]; }
JsonValue::Kind JsonValue::kind() const { return node().kind; }

std::string JsonValue::Path() const {
  std::vector<uint32_t> way;
  for (uint32_t at = index_; at != 0; at = document_->nodes[at].parent) way.push_back(at);
  std::string path;
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    const Node& step = document_->nodes[*at];
    if (document_->nodes[step.parent].kind == Kind::kArray) {
      absl::StrAppend(&path, "[", step.place, "]");
    } else {
      absl::StrAppend(&path, path.empty() ? "" : ".", ShownJson(document_->Key(*at)));
    }
  }
  return path;
}

absl::Status JsonValue::Error(absl::string_view found, absl::string_view expected) const {
  const std::string path = Path();
  return absl::InvalidArgumentError(
      absl::StrCat(document_->source, path.empty() ? "" : ": ", path, ": found ", found, ", expected ", expected));
}

std::string JsonValue::Found() const {
  const Node& value = node();
  switch (value.kind) {
    case Kind::kBool: return value.truth ? "true" : "false";
    case Kind::kInt: return absl::StrCat(value.integer);
    case Kind::kUint: return absl::StrCat(value.natural);
    case Kind::kDouble: return JsonWriter().Double(value.real).text();
    case Kind::kString: return absl::StrCat("\"", ShownJson(document_->Text(value)), "\"");
    default: return std::string(JsonKindName(value.kind));
  }
}

absl::StatusOr<std::string> JsonValue::AsString() const {
  if (!is_string()) return Error(Found(), "a string");
  return std::string(document_->Text(node()));
}

absl::StatusOr<int64_t> JsonValue::AsInt(int64_t least, int64_t most) const {
  if (kind() == Kind::kInt && node().integer >= least && node().integer <= most) return node().integer;
  if (least == kLeastInt && most == kMostInt) return Error(Found(), "an integer");
  if (most == kMostInt) return Error(Found(), absl::StrCat("an integer of at least ", least));
  return Error(Found(), absl::StrCat("an integer from ", least, " to ", most));
}

absl::StatusOr<uint64_t> JsonValue::AsUint() const {
  if (kind() == Kind::kUint) return node().natural;
  if (kind() == Kind::kInt && node().integer >= 0) return static_cast<uint64_t>(node().integer);
  return Error(Found(), "an integer from 0 to 18446744073709551615");
}

absl::StatusOr<double> JsonValue::AsDouble() const {
  switch (kind()) {
    case Kind::kInt: return static_cast<double>(node().integer);
    case Kind::kUint: return static_cast<double>(node().natural);
    case Kind::kDouble: return node().real;
    default: return Error(Found(), "a number");
  }
}

absl::StatusOr<bool> JsonValue::AsBool() const {
  if (kind() != Kind::kBool) return Error(Found(), "true or false");
  return node().truth;
}

namespace {

// The elements of an array, each through `as`.
template <typename T, typename As>
absl::StatusOr<std::vector<T>> Elements(const JsonValue& value, absl::string_view found, absl::string_view expected, As as) {
  if (!value.is_array()) return value.Error(found, expected);
  std::vector<T> elements;
  elements.reserve(value.size());
  for (int64_t i = 0; i < value.size(); ++i) {
    ASSIGN_OR_RETURN(T element, as(value[i]));
    elements.push_back(std::move(element));
  }
  return elements;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> JsonValue::AsInts(int64_t least, int64_t most) const {
  return Elements<int64_t>(*this, Found(), "an array of integers", [&](const JsonValue& v) { return v.AsInt(least, most); });
}

absl::StatusOr<std::vector<double>> JsonValue::AsDoubles() const {
  return Elements<double>(*this, Found(), "an array of numbers", [](const JsonValue& v) { return v.AsDouble(); });
}

absl::StatusOr<std::vector<std::string>> JsonValue::AsStrings() const {
  return Elements<std::string>(*this, Found(), "an array of strings", [](const JsonValue& v) { return v.AsString(); });
}

bool JsonValue::Has(absl::string_view key) const { return Value(key).ok(); }

std::vector<std::string> JsonValue::Keys() const {
  std::vector<std::string> keys;
  if (!is_object()) return keys;
  keys.reserve(size());
  for (int64_t i = 0; i < size(); ++i) keys.emplace_back(document_->Key((*this)[i].index_));
  return keys;
}

absl::StatusOr<JsonValue> JsonValue::Value(absl::string_view key) const {
  if (!is_object()) return Error(Found(), absl::StrCat("an object with \"", ShownJson(key), "\""));
  const auto begin = document_->by_key.begin() + node().begin, end = begin + node().size;
  const auto place = std::lower_bound(begin, end, key, [&](uint32_t member, absl::string_view name) {
    return document_->Key(member) < name;
  });
  if (place != end && document_->Key(*place) == key) return JsonValue(document_, *place);
  const std::string path = Path();
  return absl::InvalidArgumentError(absl::StrCat(document_->source, ": ", path, path.empty() ? "" : ".", ShownJson(key),
                                                 ": found nothing, expected a value"));
}

// NotFound is for the callers below alone, which then take their default.
absl::StatusOr<JsonValue> JsonValue::Given(absl::string_view key) const {
  if (is_object() && !Has(key)) return absl::NotFoundError("absent");
  ASSIGN_OR_RETURN(JsonValue value, Value(key));
  if (value.is_null()) return absl::NotFoundError("null");
  return value;
}

absl::StatusOr<JsonValue> JsonValue::Object(absl::string_view key) const {
  ASSIGN_OR_RETURN(JsonValue value, Value(key));
  if (!value.is_object()) return value.Error(value.Found(), "an object");
  return value;
}

absl::StatusOr<JsonValue> JsonValue::Array(absl::string_view key) const {
  ASSIGN_OR_RETURN(JsonValue value, Value(key));
  if (!value.is_array()) return value.Error(value.Found(), "an array");
  return value;
}

absl::StatusOr<std::string> JsonValue::String(absl::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsString();
}

absl::StatusOr<int64_t> JsonValue::Int(absl::string_view key, int64_t least, int64_t most) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsInt(least, most);
}

absl::StatusOr<uint64_t> JsonValue::Uint(absl::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsUint();
}

absl::StatusOr<double> JsonValue::Double(absl::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsDouble();
}

absl::StatusOr<bool> JsonValue::Bool(absl::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsBool();
}

absl::StatusOr<std::vector<int64_t>> JsonValue::Ints(absl::string_view key, int64_t least, int64_t most) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsInts(least, most);
}

absl::StatusOr<std::vector<double>> JsonValue::Doubles(absl::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsDoubles();
}

absl::StatusOr<std::vector<std::string>> JsonValue::Strings(absl::string_view key) const {
  ASSIGN_OR_RETURN(const JsonValue value, Value(key));
  return value.AsStrings();
}

absl::StatusOr<std::string> JsonValue::StringOr(absl::string_view key, absl::string_view otherwise) const {
  const absl::StatusOr<JsonValue> value = Given(key);
  if (absl::IsNotFound(value.status())) return std::string(otherwise);
  return value.ok() ? value->AsString() : value.status();
}

absl::StatusOr<int64_t> JsonValue::IntOr(absl::string_view key, int64_t otherwise, int64_t least, int64_t most) const {
  const absl::StatusOr<JsonValue> value = Given(key);
  if (absl::IsNotFound(value.status())) return otherwise;
  return value.ok() ? value->AsInt(least, most) : value.status();
}

absl::StatusOr<uint64_t> JsonValue::UintOr(absl::string_view key, uint64_t otherwise) const {
  const absl::StatusOr<JsonValue> value = Given(key);
  if (absl::IsNotFound(value.status())) return otherwise;
  return value.ok() ? value->AsUint() : value.status();
}

absl::StatusOr<double> JsonValue::DoubleOr(absl::string_view key, double otherwise) const {
  const absl::StatusOr<JsonValue> value = Given(key);
  if (absl::IsNotFound(value.status())) return otherwise;
  return value.ok() ? value->AsDouble() : value.status();
}

absl::StatusOr<bool> JsonValue::BoolOr(absl::string_view key, bool otherwise) const {
  const absl::StatusOr<JsonValue> value = Given(key);
  if (absl::IsNotFound(value.status())) return otherwise;
  return value.ok() ? value->AsBool() : value.status();
}

int64_t JsonValue::size() const { return is_array() || is_object() ? node().size : 0; }

JsonValue JsonValue::operator[](int64_t index) const {
  CHECK(index >= 0 && index < size()) << "element " << index << " of " << size();
  return JsonValue(document_, document_->children[node().begin + index]);
}

absl::string_view JsonKindName(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull: return "null";
    case JsonValue::Kind::kBool: return "true or false";
    case JsonValue::Kind::kInt:
    case JsonValue::Kind::kUint: return "an integer";
    case JsonValue::Kind::kDouble: return "a number";
    case JsonValue::Kind::kString: return "a string";
    case JsonValue::Kind::kArray: return "an array";
    case JsonValue::Kind::kObject: return "an object";
  }
  return "unknown";
}

}  // namespace tessera
