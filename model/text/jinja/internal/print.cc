#include "tessera/model/text/jinja/internal/print.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {
namespace {

std::string EscapeOf(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  if (code < 0x100) return absl::StrFormat("\\x%02x", code);
  return code < 0x10000 ? absl::StrFormat("\\u%04x", code) : absl::StrFormat("\\U%08x", code);
}

Text Plain(absl::string_view text) { return Text(text, /*from_data=*/false); }

absl::StatusOr<Text> ItemsText(Runtime& runtime, const Items& items) {
  const bool tuple = items.form == Items::Form::kTuple;
  if (items.form == Items::Form::kRange) return Plain(items.name);
  Text out = Plain(items.form == Items::Form::kView ? absl::StrCat(items.name, "([") : tuple ? "(" : "[");
  for (size_t i = 0; i < items.elements.size(); ++i) {
    if (i > 0) out.Append(", ", false);
    ASSIGN_OR_RETURN(const Text element, runtime.Represent(items.elements[i]));
    RETURN_IF_ERROR(runtime.Bytes(element.size()));
    out.Append(element);
  }
  if (tuple && items.elements.size() == 1) out.Append(",", false);
  out.Append(items.form == Items::Form::kView ? "])" : tuple ? ")" : "]", false);
  return out;
}

absl::StatusOr<Text> EntriesText(Runtime& runtime, const Mapping& mapping) {
  Text out = Plain("{");
  for (const auto& [key, value] : mapping.entries()) {
    if (out.size() > 1) out.Append(", ", false);
    ASSIGN_OR_RETURN(const Text name, runtime.Represent(key));
    ASSIGN_OR_RETURN(const Text text, runtime.Represent(value));
    RETURN_IF_ERROR(runtime.Bytes(name.size() + text.size()));
    out.Append(name);
    out.Append(": ", false);
    out.Append(text);
  }
  out.Append("}", false);
  return out;
}

}  // namespace

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[32];
  const auto scientific = std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::scientific);
  const std::string text(digits, scientific.ptr);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return text;
  char plain[64];
  const auto fixed = std::to_chars(plain, plain + sizeof(plain), value, std::chars_format::fixed);
  const std::string written(plain, fixed.ptr);
  return written.find('.') == std::string::npos ? written + ".0" : written;
}

absl::StatusOr<Text> Quote(Runtime& runtime, const Text& text) {
  RETURN_IF_ERROR(runtime.Bytes(text.held_bytes()));
  RETURN_IF_ERROR(runtime.Scan(text.size()));
  const std::string& bytes = text.bytes();
  const char quote = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos ? '"' : '\'';
  Text out = Plain(std::string(1, quote));
  for (size_t at = 0; at < bytes.size();) {
    const auto [code, size] = CharacterAt(bytes, at);
    if (code == static_cast<uint32_t>(quote) || code == '\\') {
      out.Append("\\", text.FromData(at));
      out.AppendPart(text, at, at + size);
    } else if (IsPrintable(code)) {
      out.AppendPart(text, at, at + size);
    } else {
      RETURN_IF_ERROR(runtime.Bytes(10));  // The longest escape.
      out.Append(EscapeOf(code), text.FromData(at));
    }
    at += size;
  }
  out.Append(std::string(1, quote), false);
  return out;
}

absl::StatusOr<Text> Runtime::Print(const Value& value) {
  RETURN_IF_ERROR(value.is_text() ? Scan(value.text().held_bytes()) : Step());  // The text is copied.
  switch (value.kind()) {
    case Value::Kind::kUndefined: return Text();
    case Value::Kind::kText: return value.text();
    case Value::Kind::kNone: return value.is_no_text() ? Text() : Represent(value);
    default: return Represent(value);
  }
}

absl::StatusOr<Text> Runtime::Represent(const Value& value) {
  const Level level(*this);
  RETURN_IF_ERROR(level.Check());
  RETURN_IF_ERROR(Step());
  switch (value.kind()) {
    case Value::Kind::kUndefined: return Plain("Undefined");
    case Value::Kind::kNone: return Plain("None");
    case Value::Kind::kBool: return Plain(value.boolean() ? "True" : "False");
    case Value::Kind::kInt: return Plain(absl::StrCat(value.integer()));
    case Value::Kind::kFloat: return Plain(FloatText(value.number()));
    case Value::Kind::kText: return value.text().safe() ? Fail("found safe text in a list to print, which is not supported")
                                                        : Quote(*this, value.text());
    case Value::Kind::kItems: return ItemsText(*this, value.items());
    case Value::Kind::kMapping: return EntriesText(*this, value.mapping());
    case Value::Kind::kObject: return value.object().Print(*this);
  }
  return Text();
}

absl::StatusOr<Text> Object::Print(Runtime&) const { return Fail("found a ", type(), " to print, which is not supported"); }

absl::StatusOr<Text> Namespace::Print(Runtime& runtime) const {
  const Runtime::Level level(runtime, /*call=*/true);  // A namespace may hold itself.
  RETURN_IF_ERROR(level.Check());
  ASSIGN_OR_RETURN(const Text entries, EntriesText(runtime, attributes_));
  Text out = Plain("<Namespace ");
  out.Append(entries);
  out.Append(">", false);
  return out;
}

}  // namespace tessera::jinja
