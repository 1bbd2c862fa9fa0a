#include "tessera/base/json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"

namespace tessera {
namespace {

// Returns the length of the well-formed UTF-8 sequence at the front of `text`, or 0. With 0, *bad is the number of bytes that one U+FFFD
// replaces: the longest prefix of a possible sequence (Unicode 15, section 3.9).
size_t Utf8Length(absl::string_view text, size_t* bad) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  *bad = 1;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms (E0, F0), surrogates (ED) and code points above U+10FFFF (F4).
  unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) return 0;
    *bad = i + 1;
    low = 0x80, high = 0xBF;
  }
  return length;
}

void AppendEscaped(char c, std::string* out) {
  switch (c) {
    case '"': out->append("\\\""); return;
    case '\\': out->append("\\\\"); return;
    case '\n': out->append("\\n"); return;
    case '\r': out->append("\\r"); return;
    case '\t': out->append("\\t"); return;
  }
  if (static_cast<unsigned char>(c) < 0x20) {
    absl::StrAppendFormat(out, "\\u%04x", static_cast<int>(c));
  } else {
    out->push_back(c);
  }
}

}  // namespace

JsonWriter& JsonWriter::BeginObject() {
  BeginValue();
  text_.push_back('{');
  open_.push_back({.object = true, .empty = true});
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  BeginValue();
  text_.push_back('[');
  open_.push_back({.object = false, .empty = true});
  return *this;
}

JsonWriter& JsonWriter::EndObject() { return Close(/*object=*/true); }
JsonWriter& JsonWriter::EndArray() { return Close(/*object=*/false); }

JsonWriter& JsonWriter::Key(absl::string_view key) {
  CHECK(!open_.empty() && open_.back().object && !after_key_) << "no place for a key: " << text_;
  Separate();
  Quote(key);
  text_.append(indent_ > 0 ? ": " : ":");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) {
  BeginValue();
  Quote(value);
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) {
  BeginValue();
  absl::StrAppend(&text_, value);
  return *this;
}

JsonWriter& JsonWriter::Uint(uint64_t value) {
  BeginValue();
  absl::StrAppend(&text_, value);
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  if (!std::isfinite(value)) return Null();
  BeginValue();
  char digits[32];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), value);
  text_.append(digits, end.ptr);
  return *this;
}

JsonWriter& JsonWriter::Double(double value, int digits) {
  CHECK(digits >= 1 && digits <= 17) << digits;
  if (!std::isfinite(value)) return Null();
  BeginValue();
  absl::StrAppendFormat(&text_, "%.*g", digits, value);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeginValue();
  text_.append(value ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeginValue();
  text_.append("null");
  return *this;
}

std::string JsonWriter::Take() && {
  CHECK(complete()) << "unfinished JSON: " << text_;
  return std::move(text_);
}

void JsonWriter::BeginValue() {
  if (after_key_) {
    after_key_ = false;
  } else if (open_.empty()) {
    CHECK(text_.empty()) << "a second value after " << text_;
  } else {
    CHECK(!open_.back().object) << "a value without its key: " << text_;
    Separate();
  }
}

void JsonWriter::Separate() {
  if (!open_.back().empty) text_.push_back(',');
  open_.back().empty = false;
  NewLine();
}

JsonWriter& JsonWriter::Close(bool object) {
  CHECK(!open_.empty() && open_.back().object == object && !after_key_) << "nothing to end here: " << text_;
  const bool empty = open_.back().empty;
  open_.pop_back();
  if (!empty) NewLine();
  text_.push_back(object ? '}' : ']');
  return *this;
}

void JsonWriter::NewLine() {
  if (indent_ <= 0) return;
  text_.push_back('\n');
  text_.append(open_.size() * indent_, ' ');
}

void JsonWriter::Quote(absl::string_view value) {
  text_.push_back('"');
  while (!value.empty()) {
    size_t bad;
    const size_t length = Utf8Length(value, &bad);
    if (length == 1) {
      AppendEscaped(value[0], &text_);
    } else if (length > 1) {
      text_.append(value.data(), length);
    } else {
      text_.append("\xEF\xBF\xBD");  // U+FFFD
    }
    value.remove_prefix(length > 0 ? length : bad);
  }
  text_.push_back('"');
}

}  // namespace tessera
