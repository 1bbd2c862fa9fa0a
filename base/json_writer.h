// Writes JSON into a string, piece by piece. The result is valid JSON for any strings and numbers.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("name").String(model);
//   json.Key("tokens").BeginArray().Int(3).Int(5).EndArray();
//   json.Key("seconds").Double(0.25);
//   json.EndObject();
//   std::string text = std::move(json).Take();      // {"name":"...","tokens":[3,5],"seconds":0.25}
//
// Bytes that are not UTF-8 become U+FFFD, control characters are escaped, NaN and infinities become null. Calls that cannot make JSON (a
// value without a key, an End that does not match) are CHECK failures. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class JsonWriter {
 public:
  // With indent > 0 each value is on a separate line, indented by `indent` spaces per level, for people to read.
  explicit JsonWriter(int indent = 0) : indent_(indent) {}

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(absl::string_view key);  // A repeated key is written twice; the caller must avoid repetition.

  JsonWriter& String(absl::string_view value);
  JsonWriter& Int(int64_t value);
  JsonWriter& Uint(uint64_t value);
  JsonWriter& Double(double value);              // The shortest text that reads back as the same number.
  JsonWriter& Double(double value, int digits);  // Rounded to `digits` significant digits. REQUIRES: 1 <= digits <= 17.
  JsonWriter& Bool(bool value);
  JsonWriter& Null();

  // The text so far: valid JSON if complete().
  const std::string& text() const { return text_; }
  bool complete() const { return open_.empty() && !text_.empty(); }
  std::string Take() &&;  // REQUIRES: complete().

 private:
  struct Open { bool object; bool empty; };

  void BeginValue();  // The comma, line break or nothing that goes before a value here.
  void Separate();
  JsonWriter& Close(bool object);
  void NewLine();
  void Quote(absl::string_view value);

  const int indent_;
  std::string text_;
  std::vector<Open> open_;
  bool after_key_ = false;
};

}  // namespace tessera
