// Reads JSON from outside: requests, configurations, headers of safetensors. (Writing: json_writer.h, included here.)
//
//   ASSIGN_OR_RETURN(JsonValue request, JsonValue::Parse(body, "request"));
//   ASSIGN_OR_RETURN(std::string model, request.String("model"));
//   ASSIGN_OR_RETURN(int64_t tokens, request.IntOr("max_tokens", 16, /*least=*/0, /*most=*/4096));
//   ASSIGN_OR_RETURN(JsonValue messages, request.Array("messages"));
//   for (int64_t i = 0; i < messages.size(); ++i) Use(messages[i].String("content"));
//
// The text is hostile until checked. Depth, size and number of values are bounded. Repeated keys, bytes that are not UTF-8 and numbers
// beyond a double are errors.
//
// Errors: InvalidArgument. Parse names line and byte. The getters name the path ("request: messages[2].content"), the value found and the
// value expected. An absent key is such an error, too, and never NotFound: the file exists.
//
// Threads: a value shares its document. Values are cheap to copy, and thread-safe, since nothing changes after Parse.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json_writer.h"

namespace tessera {

class JsonValue {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };  // kUint: above INT64_MAX.

  static constexpr int kMaxDepth = 64;
  struct Limits {
    int64_t max_bytes = int64_t{16} << 20;   // At most 1 GiB. ResourceExhausted beyond max_bytes.
    int64_t max_values = int64_t{1} << 20;   // A value takes about 60 bytes. ResourceExhausted beyond max_values.
  };
  // Parses a document. `source` names the text in every error. The value does not refer to `text` afterwards.
  static absl::StatusOr<JsonValue> Parse(absl::string_view text, absl::string_view source, const Limits& limits);
  static absl::StatusOr<JsonValue> Parse(absl::string_view text, absl::string_view source = "JSON");

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_number() const { return kind() >= Kind::kInt && kind() <= Kind::kDouble; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }

  // Returns the value's path in the document, for messages: "messages[2].content"; empty for the outermost value.
  std::string Path() const;

  // Returns an error about this value, in the common form: "request: n: found 3, expected an even number".
  absl::Status Error(absl::string_view found, absl::string_view expected) const;

  // --- This value as a C++ value. Integers must be written as integers: 5, not 5.0 or "5". Double takes every number.
  absl::StatusOr<std::string> AsString() const;
  absl::StatusOr<int64_t> AsInt(int64_t least = kLeastInt, int64_t most = kMostInt) const;
  absl::StatusOr<uint64_t> AsUint() const;
  absl::StatusOr<double> AsDouble() const;
  absl::StatusOr<bool> AsBool() const;
  absl::StatusOr<std::vector<int64_t>> AsInts(int64_t least = kLeastInt, int64_t most = kMostInt) const;
  absl::StatusOr<std::vector<double>> AsDoubles() const;
  absl::StatusOr<std::vector<std::string>> AsStrings() const;

  // --- Members of an object. On a value that is not an object, Has is false and the others are errors.
  bool Has(absl::string_view key) const;
  std::vector<std::string> Keys() const;  // In the order of the text; empty for a value that is not an object.
  absl::StatusOr<JsonValue> Value(absl::string_view key) const;  // A value of any kind.
  absl::StatusOr<JsonValue> Object(absl::string_view key) const;
  absl::StatusOr<JsonValue> Array(absl::string_view key) const;
  absl::StatusOr<std::string> String(absl::string_view key) const;
  absl::StatusOr<int64_t> Int(absl::string_view key, int64_t least = kLeastInt, int64_t most = kMostInt) const;
  absl::StatusOr<uint64_t> Uint(absl::string_view key) const;
  absl::StatusOr<double> Double(absl::string_view key) const;
  absl::StatusOr<bool> Bool(absl::string_view key) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view key, int64_t least = kLeastInt, int64_t most = kMostInt) const;
  absl::StatusOr<std::vector<double>> Doubles(absl::string_view key) const;
  absl::StatusOr<std::vector<std::string>> Strings(absl::string_view key) const;

  // As above, with a default for a key that is absent or null; a value of the wrong type is still an error.
  absl::StatusOr<std::string> StringOr(absl::string_view key, absl::string_view otherwise) const;
  absl::StatusOr<int64_t> IntOr(absl::string_view key, int64_t otherwise, int64_t least = kLeastInt, int64_t most = kMostInt) const;
  absl::StatusOr<uint64_t> UintOr(absl::string_view key, uint64_t otherwise) const;
  absl::StatusOr<double> DoubleOr(absl::string_view key, double otherwise) const;
  absl::StatusOr<bool> BoolOr(absl::string_view key, bool otherwise) const;

  // --- Elements of an array, values of an object in the order of the text; 0 for other kinds.
  int64_t size() const;
  JsonValue operator[](int64_t index) const;  // REQUIRES: 0 <= index < size().

 private:
  friend class JsonBuilder;
  struct Document;
  struct Node;
  static constexpr int64_t kLeastInt = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMostInt = std::numeric_limits<int64_t>::max();

  JsonValue(std::shared_ptr<const Document> document, uint32_t index) : document_(std::move(document)), index_(index) {}
  const Node& node() const;
  std::string Found() const;                                   // This value in a few words.
  absl::StatusOr<JsonValue> Given(absl::string_view key) const;  // As Value, but null counts as absent.

  std::shared_ptr<const Document> document_;
  uint32_t index_;
};

absl::string_view JsonKindName(JsonValue::Kind kind);  // "an object", "a string", ...

}  // namespace tessera
