// What filters, tests, functions and methods need of the interpreter: limits, ways to make values, and attributes of values.
//
//   RETURN_IF_ERROR(runtime.Step(elements.size()));
//   return runtime.New(std::move(text));                    // counted; an error beyond the limits
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/jinja/internal/library.h"
#include "tessera/model/text/jinja/template.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

class Runtime {
 public:
  explicit Runtime(const RenderOptions& options);
  ~Runtime();  // Objects refer to each other in circles, so each is emptied.
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const RenderOptions& options() const { return options_; }

  // Counts work that is about to be done. ResourceExhausted names the limit.
  absl::Status Step(size_t count = 1);
  absl::Status Bytes(size_t count);  // Bytes of memory for texts, lists and so on that are made.
  absl::Status Scan(size_t bytes) { return Step(1 + bytes / 32); }       // Bytes that are looked at one after the other.
  absl::Status Charge(const Text& text) { return Bytes(text.held_bytes() + kTextBytes); }  // A text that is made.
  absl::Status Charge(const Mapping& mapping);

  absl::StatusOr<Value> New(Text text);
  absl::StatusOr<Value> New(Items items);
  absl::StatusOr<Value> New(Mapping mapping);
  absl::StatusOr<Value> List(std::vector<Value> elements) { return New(Items{Items::Form::kList, std::move(elements)}); }
  absl::StatusOr<Value> Own(std::shared_ptr<Object> object);  // Until the end: objects may refer to each other in circles.

  // One level of evaluation, or of calls, as long as it lives.
  class Level {
   public:
    explicit Level(Runtime& runtime, bool call = false) : runtime_(runtime), call_(call) { Add(1); }
    ~Level() { Add(-1); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    absl::Status Check() const;

   private:
    void Add(int count) {
      runtime_.nesting_ += count;
      if (call_) runtime_.calls_ += count;
    }
    Runtime& runtime_;
    const bool call_;
  };

  // A value's elements, as a loop sees them: of a dict its keys, of a text its characters.
  absl::StatusOr<std::vector<Value>> Elements(const Value& value);
  absl::StatusOr<int64_t> Length(const Value& value);
  absl::StatusOr<Value> Attribute(const Value& of, absl::string_view name);         // value.name
  absl::StatusOr<Value> Element(const Value& of, const Value& subscript);           // value[subscript]
  absl::StatusOr<Value> Path(const Value& of, const Value& dotted);                 // As filters take it: "a.b.0", or a number.
  absl::StatusOr<Value> Call(const Value& callee, Arguments arguments);
  absl::StatusOr<Text> Print(const Value& value);                                   // As str in Python.
  absl::StatusOr<Text> Represent(const Value& value);                               // As repr in Python.

 private:
  // Memory that values take beside their bytes, about.
  static constexpr size_t kTextBytes = 96, kElementBytes = 48, kEntryBytes = 96, kObjectBytes = 256;

  absl::StatusOr<Value> Bounded(Value made) const;
  absl::StatusOr<Value> Character(const Text& text, int64_t index);  // text[index]

  const RenderOptions& options_;
  RenderWork own_work_;
  RenderWork& work_;   // The options', or its own.
  int64_t bytes_ = 0;
  int nesting_ = 0;
  int calls_ = 0;
  int64_t until_clock_ = 0;
  std::vector<std::shared_ptr<Object>> objects_;
};

// What a template makes by itself.
class Object {
 public:
  virtual ~Object() = default;
  virtual absl::string_view type() const = 0;  // As errors name it.
  virtual absl::StatusOr<Text> Print(Runtime& runtime) const;
  virtual absl::StatusOr<std::optional<Value>> Member(Runtime& runtime, absl::string_view name);  // object.name, if there is one.
  virtual bool callable() const { return false; }
  virtual absl::StatusOr<Value> Call(Runtime& runtime, Arguments arguments);
  virtual std::vector<Value>* elements() { return nullptr; }  // Null: it is not iterable.
  virtual absl::Status Fill(Runtime&) { return absl::OkStatus(); }  // Called before elements().
  virtual void Clear() {}  // Drops all values that it holds.
  virtual int depth() const { return 0; }  // As Value::depth. What Runtime::Own has counts as 0: it ends with the runtime.
};

class Namespace : public Object {
 public:
  absl::string_view type() const override { return "namespace"; }
  absl::StatusOr<Text> Print(Runtime& runtime) const override;
  absl::StatusOr<std::optional<Value>> Member(Runtime&, absl::string_view name) override {
    const Value* const found = attributes_.Find(name);
    return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
  }
  void Set(const Value& name, Value value) { attributes_.Set(name, std::move(value)); }
  void Clear() override { attributes_ = Mapping(); }

 private:
  Mapping attributes_;
};

// A function, or a method of a value.
class Function : public Object {
 public:
  Function(absl::string_view name, FilterFunction function, Value self) : name_(name), function_(function), self_(std::move(self)) {}
  absl::string_view type() const override { return "function"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Runtime& runtime, Arguments arguments) override { return function_(runtime, self_, arguments); }
  void Clear() override { self_ = Value(); }
  int depth() const override { return self_.depth() + 1; }  // A list may hold a method of another list.

 private:
  const std::string name_;
  const FilterFunction function_;
  Value self_;
};

std::string TypeName(const Value& value);  // As errors name it: "none", "text", "a list", ...

}  // namespace tessera::jinja
