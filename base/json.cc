#include "tessera/base/json.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tessera/base/internal/json_document.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Walks the text for the parser, and tells the builder its position: the parser gives the position only with its own errors.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// The parser's message without its own account of the place.
std::string Reason(absl::string_view message) {
  const size_t tag = message.find("] ");
  if (tag != absl::string_view::npos) message.remove_prefix(tag + 2);
  if (absl::StartsWith(message, "parse error")) {
    const size_t colon = message.find(": ");
    if (colon != absl::string_view::npos) message.remove_prefix(colon + 2);
  }
  constexpr size_t kLongest = 200;
  return message.size() <= kLongest ? Printable(absl::Utf8SafeCHexEscape(message))   // The message may quote bytes that are not UTF-8.
                                    : absl::StrCat(absl::CHexEscape(message.substr(0, kLongest)), "...");
}

}  // namespace

// Receives the parser's events and builds the document; returning false stops the parser. The names are the parser's.
class JsonBuilder {
 public:
  using Kind = JsonValue::Kind;

  JsonBuilder(absl::string_view text, absl::string_view source, const JsonValue::Limits& limits)
      : text_(text), limits_(limits), furthest_(text.data()), document_(std::make_shared<JsonValue::Document>()) {
    document_->source = std::string(source);
  }

  absl::StatusOr<JsonValue> Build() {
    const TrackedIterator begin(text_.data(), &furthest_), end(text_.data() + text_.size(), &furthest_);
    const bool whole = nlohmann::json::sax_parse(begin, end, this);
    RETURN_IF_ERROR(status_);
    if (!whole) return Fail("this is not JSON");
    return JsonValue(std::move(document_), 0);
  }

  bool null() { return Add(Kind::kNull) != nullptr; }
  bool boolean(bool value) { return Set(Add(Kind::kBool), &JsonValue::Node::truth, value); }
  bool number_integer(int64_t value) { return Set(Add(Kind::kInt), &JsonValue::Node::integer, value); }
  bool number_unsigned(uint64_t value) {
    if (value <= INT64_MAX) return number_integer(static_cast<int64_t>(value));
    return Set(Add(Kind::kUint), &JsonValue::Node::natural, value);
  }
  bool number_float(double value, const std::string&) { return Set(Add(Kind::kDouble), &JsonValue::Node::real, value); }
  bool string(const std::string& value) {
    JsonValue::Node* node = Add(Kind::kString);
    return node != nullptr && Keep(value, &node->begin, &node->size);
  }
  bool binary(const std::vector<uint8_t>&) { return Stop("binary data, which JSON has not"); }
  bool start_object(size_t) { return Open(Kind::kObject); }
  bool start_array(size_t) { return Open(Kind::kArray); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(const std::string& name) {
    if (!open_.back().keys.insert(name).second) return Stop(absl::StrCat("the key \"", ShownJson(name), "\" a second time"));
    return Keep(name, &key_begin_, &key_size_);
  }
  bool parse_error(size_t, const std::string&, const std::exception& error) { return Stop(Reason(error.what())); }

 private:
  struct OpenContainer {
    uint32_t node;
    std::vector<uint32_t> children;
    absl::flat_hash_set<std::string> keys;
  };

  JsonValue::Node* Add(Kind kind) {
    std::vector<JsonValue::Node>& nodes = document_->nodes;
    if (static_cast<int64_t>(nodes.size()) >= limits_.max_values) {
      status_ = absl::ResourceExhaustedError(absl::StrCat(Place(), ": found more than ", limits_.max_values,
                                                          " values, expected at most so many"));
      return nullptr;
    }
    const uint32_t index = static_cast<uint32_t>(nodes.size());
    JsonValue::Node& node = nodes.emplace_back();
    node.kind = kind;
    node.key_begin = key_begin_, node.key_size = key_size_;
    if (!open_.empty()) {
      node.parent = open_.back().node;
      node.place = static_cast<uint32_t>(open_.back().children.size());
      open_.back().children.push_back(index);
    }
    return &node;
  }

  template <typename T>
  static bool Set(JsonValue::Node* node, T JsonValue::Node::*field, T value) {
    if (node == nullptr) return false;
    node->*field = value;
    return true;
  }

  bool Keep(const std::string& value, uint32_t* begin, uint32_t* size) {
    *begin = static_cast<uint32_t>(document_->text.size()), *size = static_cast<uint32_t>(value.size());
    document_->text.append(value);
    return true;
  }

  bool Open(Kind kind) {
    if (open_.size() >= JsonValue::kMaxDepth) return Stop(absl::StrCat("nesting deeper than ", JsonValue::kMaxDepth, " levels"));
    if (Add(kind) == nullptr) return false;
    open_.push_back({static_cast<uint32_t>(document_->nodes.size() - 1), {}, {}});
    return true;
  }

  bool Close() {
    JsonValue::Document& document = *document_;
    JsonValue::Node& node = document.nodes[open_.back().node];
    std::vector<uint32_t>& children = open_.back().children;
    node.begin = static_cast<uint32_t>(document.children.size()), node.size = static_cast<uint32_t>(children.size());
    document.children.insert(document.children.end(), children.begin(), children.end());
    if (node.kind == Kind::kObject) {
      std::sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) { return document.Key(a) < document.Key(b); });
    }
    document.by_key.insert(document.by_key.end(), children.begin(), children.end());
    open_.pop_back();
    return true;
  }

  std::string Place() const {
    const absl::string_view before = text_.substr(0, furthest_ - text_.data());
    return absl::StrCat(document_->source, ": line ", 1 + std::count(before.begin(), before.end(), '\n'), ", byte ", before.size());
  }

  absl::Status Fail(absl::string_view reason) const { return absl::InvalidArgumentError(absl::StrCat(Place(), ": ", reason)); }

  bool Stop(absl::string_view reason) {
    status_ = Fail(reason);
    return false;
  }

  const absl::string_view text_;
  const JsonValue::Limits limits_;
  const char* furthest_;
  std::shared_ptr<JsonValue::Document> document_;
  std::vector<OpenContainer> open_;
  uint32_t key_begin_ = 0, key_size_ = 0;       // The key of the member whose value comes next.
  absl::Status status_;
};

absl::StatusOr<JsonValue> JsonValue::Parse(absl::string_view text, absl::string_view source, const Limits& limits) {
  // 1 GiB of text keeps every position below 2^32: no string is longer decoded than written.
  const int64_t most = std::min<int64_t>(limits.max_bytes, int64_t{1} << 30);
  if (static_cast<int64_t>(text.size()) > most) {
    return absl::ResourceExhaustedError(absl::StrCat(source, ": found ", text.size(), " bytes, expected at most ", most));
  }
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(source, ": found an empty text, expected JSON"));
  try {  // The parser reports errors by events; only the allocator may still throw.
    return JsonBuilder(text, source, limits).Build();
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat(source, ": cannot parse: ", error.what()));
  }
}

absl::StatusOr<JsonValue> JsonValue::Parse(absl::string_view text, absl::string_view source) {
  return Parse(text, source, Limits{});
}

}  // namespace tessera
