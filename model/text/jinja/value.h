// The values of a template: none, booleans, integers, numbers, texts, lists, dicts, and objects that the template makes.
//
//   jinja::Value message = jinja::Value::Dict({{"role", jinja::Value::String("user")}, {"content", jinja::Value::String(typed)}});
//   ASSIGN_OR_RETURN(const jinja::Value tools, jinja::Value::FromJson(parsed));
//
// Texts from outside are data (Text), and so are the keys of dicts. Lists and dicts never change once made, so values are cheap to copy.
// Threads: thread-safe, except objects that a template makes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"
#include "tessera/model/text/jinja/text.h"

namespace tessera::jinja {

class Value;
class Object;   // Made by a template: a namespace, a macro, a loop, ...
struct Items;   // Elements of a list or tuple.
class Mapping;  // Entries of a dict, in order.

class Value {
 public:
  enum class Kind : uint8_t { kUndefined, kNone, kBool, kInt, kFloat, kText, kItems, kMapping, kObject };

  Value() = default;  // Undefined.
  static Value Undefined(absl::string_view what);  // `what` names the undefined value in errors.
  static Value None() { return Value(Data(std::in_place_index<1>)); }
  static Value NoText() { return Value(Data(std::in_place_index<1>, Nothing{.prints = false})); }  // None, printed as an empty text.
  static Value Bool(bool value) { return Value(Data(std::in_place_index<2>, value)); }
  static Value Int(int64_t value) { return Value(Data(std::in_place_index<3>, value)); }
  static Value Float(double value) { return Value(Data(std::in_place_index<4>, value)); }
  static Value Of(Text text);
  static Value String(absl::string_view data) { return Of(Text(data, /*from_data=*/true)); }
  static Value List(std::vector<Value> elements);
  static Value Dict(std::vector<std::pair<std::string, Value>> entries);  // A key given twice has the last value.
  static Value Of(Items items);
  static Value Of(Mapping mapping);
  static Value Of(std::shared_ptr<Object> object) { return Value(Data(std::move(object))); }

  // Converts JSON. All texts and keys are data. Returns InvalidArgument for an integer beyond 64 bits.
  static absl::StatusOr<Value> FromJson(const JsonValue& json);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_undefined() const { return kind() == Kind::kUndefined; }
  bool is_none() const { return kind() == Kind::kNone; }
  bool is_no_text() const { return is_none() && !std::get<1>(data_).prints; }
  bool is_text() const { return kind() == Kind::kText; }
  bool is_integral() const { return kind() == Kind::kInt || kind() == Kind::kBool; }  // A boolean counts as 0 or 1.
  bool is_number() const { return is_integral() || kind() == Kind::kFloat; }

  // REQUIRES: the value has this kind. integer() also takes booleans, and number() all numbers.
  bool boolean() const { return std::get<2>(data_); }
  int64_t integer() const { return kind() == Kind::kBool ? (boolean() ? 1 : 0) : std::get<3>(data_); }
  double number() const { return kind() == Kind::kFloat ? std::get<4>(data_) : static_cast<double>(integer()); }
  const Text& text() const { return *std::get<5>(data_); }
  const Items& items() const { return *std::get<6>(data_); }
  const Mapping& mapping() const { return *std::get<7>(data_); }
  Object& object() const { return *std::get<8>(data_); }
  int depth() const;       // Nesting of lists, dicts and methods of lists or dicts; 0: none of these.
  int64_t weight() const;  // Approximate work to compare or print the value.

  std::string undefined_what() const;  // REQUIRES: is_undefined().
  // For texts, lists and so on: true if both are the same object.
  bool SameObject(const Value& other) const { return data_ == other.data_; }

 private:
  struct Nothing {
    bool prints = true;   // As "None".
    bool operator==(const Nothing&) const { return true; }
  };
  using What = std::shared_ptr<const std::string>;
  using Data = std::variant<What, Nothing, bool, int64_t, double, std::shared_ptr<const Text>, std::shared_ptr<const Items>,
                            std::shared_ptr<const Mapping>, std::shared_ptr<Object>>;
  explicit Value(Data data) : data_(std::move(data)) {}

  Data data_;
};

struct Items {
  enum class Form : uint8_t { kList, kTuple, kRange, kView };  // A view: the result of a dict's keys(), values() or items().
  Form form = Form::kList;
  std::vector<Value> elements = {};
  std::string name = {};  // The printed name of a range or a view.
  int depth = 1;          // Nesting of lists and dicts. The interpreter bounds depth and weight. Value::Of sets both.
  int64_t weight = 1;     // All values within, each counted at every occurrence.
};

class Mapping {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  int depth() const { return depth_; }         // As in Items.
  int64_t weight() const { return weight_; }
  // Returns the value of an equal key, or null. REQUIRES: keys are hashable (internal/compare.h).
  const Value* Find(const Value& key) const;
  const Value* Find(absl::string_view key) const;
  void Set(const Value& key, Value value);  // An equal key keeps the place and text in the mapping.

 private:
  struct Index;
  std::vector<Entry> entries_;
  std::shared_ptr<Index> index_;  // The places of keys, if there are many entries.
  int depth_ = 1;
  int64_t weight_ = 1;
};

}  // namespace tessera::jinja
