#include "tessera/model/text/jinja/internal/json_text.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/print.h"

namespace tessera::jinja {
namespace {

std::string Escaped(uint32_t code) {
  if (code == '"' || code == '\\') return {'\\', static_cast<char>(code)};
  constexpr absl::string_view kCodes = "\n\r\t\f\b", kNames = "nrtfb";
  const size_t known = code < 0x80 ? kCodes.find(static_cast<char>(code)) : absl::string_view::npos;
  if (known != absl::string_view::npos) return {'\\', kNames[known]};
  if (code < 0x10000) return absl::StrFormat("\\u%04x", code);
  return absl::StrFormat("\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF));
}

class Writer {
 public:
  Writer(Runtime& runtime, const JsonStyle& style)
      : runtime_(runtime),
        style_(style),
        separator_(style.item_separator ? *style.item_separator : Text(style.indent ? "," : ", ", false)) {}

  absl::Status Write(const Value& value) {
    RETURN_IF_ERROR(runtime_.Step());
    switch (value.kind()) {
      case Value::Kind::kNone: return Plain("null");
      case Value::Kind::kBool: return Plain(value.boolean() ? "true" : "false");
      case Value::Kind::kInt: return Plain(absl::StrCat(value.integer()));
      case Value::Kind::kFloat: return Plain(FloatName(value.number()));
      case Value::Kind::kText: return Quoted(value.text());
      case Value::Kind::kMapping: return Entries(value.mapping());
      case Value::Kind::kItems:
        if (value.items().form <= Items::Form::kTuple) return Elements(value.items().elements);
        [[fallthrough]];
      default: return Fail("found ", TypeName(value), " to write as JSON, expected what JSON has");
    }
  }
  Text Take() { return std::move(out_); }

 private:
  static std::string FloatName(double value) {
    return std::isnan(value) ? "NaN" : std::isinf(value) ? (value < 0 ? "-Infinity" : "Infinity") : FloatText(value);
  }

  absl::Status Plain(absl::string_view text) {
    RETURN_IF_ERROR(runtime_.Bytes(text.size()));
    out_.Append(text, false);
    return absl::OkStatus();
  }
  absl::Status Given(const Text& text) {
    RETURN_IF_ERROR(runtime_.Bytes(text.size()));
    out_.Append(text);
    return absl::OkStatus();
  }

  absl::Status Quoted(const Text& text) {
    RETURN_IF_ERROR(runtime_.Bytes(text.held_bytes()));
    RETURN_IF_ERROR(runtime_.Scan(text.size()));
    const std::string& bytes = text.bytes();
    out_.Append("\"", false);
    size_t plain = 0;  // Start of the text without escapes.
    for (size_t at = 0; at < bytes.size();) {
      const auto [code, size] = CharacterAt(bytes, at);
      if (code < 0x20 || code == '"' || code == '\\' || (style_.ascii && code > 0x7E)) {
        RETURN_IF_ERROR(runtime_.Bytes(12));  // The longest escape.
        out_.AppendPart(text, plain, at);
        out_.Append(Escaped(code), text.FromData(at));
        plain = at + size;
      }
      at += size;
    }
    out_.AppendPart(text, plain, bytes.size());
    out_.Append("\"", false);
    return absl::OkStatus();
  }

  absl::Status NewLine() {
    if (!style_.indent) return absl::OkStatus();
    RETURN_IF_ERROR(Plain("\n"));
    for (int i = 0; i < level_; ++i) RETURN_IF_ERROR(Given(*style_.indent));
    return absl::OkStatus();
  }

  absl::Status Elements(const std::vector<Value>& elements) {
    if (elements.empty()) return Plain("[]");
    RETURN_IF_ERROR(Plain("["));
    ++level_;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) RETURN_IF_ERROR(Given(separator_));
      RETURN_IF_ERROR(NewLine());
      RETURN_IF_ERROR(Write(elements[i]));
    }
    --level_;
    RETURN_IF_ERROR(NewLine());
    return Plain("]");
  }

  // Returns a key in JSON: a text.
  absl::StatusOr<Text> Key(const Value& key) {
    switch (key.kind()) {
      case Value::Kind::kText: return key.text();
      case Value::Kind::kNone: return Text("null", false);
      case Value::Kind::kBool: return Text(key.boolean() ? "true" : "false", false);
      case Value::Kind::kInt: return Text(absl::StrCat(key.integer()), false);
      case Value::Kind::kFloat: return Text(FloatName(key.number()), false);
      default: return Fail("found ", TypeName(key), " as a key to write as JSON, expected text");
    }
  }

  absl::StatusOr<std::vector<Mapping::Entry>> InOrder(const Mapping& mapping) {
    std::vector<Mapping::Entry> entries = mapping.entries();
    if (!style_.sort_keys) return entries;
    int64_t work = 0;
    for (const auto& [key, value] : entries) work += key.weight();
    RETURN_IF_ERROR(runtime_.Step(static_cast<size_t>(work) * 8));
    absl::Status status;
    std::stable_sort(entries.begin(), entries.end(), [&](const Mapping::Entry& a, const Mapping::Entry& b) {
      const absl::StatusOr<bool> less = Less(a.first, b.first);
      if (!less.ok()) status = less.status();
      return less.ok() && *less;
    });
    RETURN_IF_ERROR(status);
    return entries;
  }

  absl::Status Entries(const Mapping& mapping) {
    if (mapping.size() == 0) return Plain("{}");
    ASSIGN_OR_RETURN(const std::vector<Mapping::Entry> entries, InOrder(mapping));
    RETURN_IF_ERROR(Plain("{"));
    ++level_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) RETURN_IF_ERROR(Given(separator_));
      RETURN_IF_ERROR(NewLine());
      ASSIGN_OR_RETURN(const Text key, Key(entries[i].first));
      RETURN_IF_ERROR(Quoted(key));
      RETURN_IF_ERROR(Given(style_.key_separator));
      RETURN_IF_ERROR(Write(entries[i].second));
    }
    --level_;
    RETURN_IF_ERROR(NewLine());
    return Plain("}");
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  const Text separator_;
  Text out_;
  int level_ = 0;
};

}  // namespace

absl::StatusOr<Text> JsonText(Runtime& runtime, const Value& value, const JsonStyle& style) {
  Writer writer(runtime, style);
  RETURN_IF_ERROR(writer.Write(value));
  return writer.Take();
}

}  // namespace tessera::jinja
