// The interpreter's services for filters, tests, functions and methods: limits, ways to make values, and attributes of values.
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
  ~Runtime();  // Objects refer to each other in cycles, so each object is cleared.
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const RenderOptions& options() const { return options_; }

  // Counts work before the work is done. ResourceExhausted names the limit.
  absl::Status Step(size_t count = 1);
  absl::Status Bytes(size_t count);  // Bytes of memory for new texts, lists and so on.
  absl::Status Scan(size_t bytes) { return Step(1 + bytes / 32); }       // Bytes to be read one after the other.
  absl::Status Charge(const Text& text) { return Bytes(text.held_bytes() + kTextBytes); }  // A new text.
  absl::Status Charge(const Mapping& mapping);

  absl::StatusOr<Value> New(Text text);
  absl::StatusOr<Value> New(Items items);
  absl::StatusOr<Value> New(Mapping mapping);
  absl::StatusOr<Value> List(std::vector<Value> elements) { return New(Items{Items::Form::kList, std::move(elements)}); }
  absl::StatusOr<Value> Own(std::shared_ptr<Object> object);  // Keeps the object until the end: objects may refer to each other in cycles.

  // One level of evaluation, or of calls, during the Level's lifetime.
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

  // Returns a value's elements, as a loop sees them: a dict's keys, a text's characters.
  absl::StatusOr<std::vector<Value>> Elements(const Value& value);
  absl::StatusOr<int64_t> Length(const Value& value);
  absl::StatusOr<Value> Attribute(const Value& of, absl::string_view name);         // value.name
  absl::StatusOr<Value> Element(const Value& of, const Value& subscript);           // value[subscript]
  absl::StatusOr<Value> Path(const Value& of, const Value& dotted);                 // In the form that filters take: "a.b.0", or a number.
  absl::StatusOr<Value> Call(const Value& callee, Arguments arguments);
  absl::StatusOr<Text> Print(const Value& value);                                   // Like str in Python.
  absl::StatusOr<Text> Represent(const Value& value);                               // Like repr in Python.

 private:
  // Approximate memory of values in addition to their bytes.
  static constexpr size_t kTextBytes = 96, kElementBytes = 48, kEntryBytes = 96, kObjectBytes = 256;

  absl::StatusOr<Value> Bounded(Value made) const;
  absl::StatusOr<Value> Character(const Text& text, int64_t index);  // text[index]

  const RenderOptions& options_;
  RenderWork own_work_;
  RenderWork& work_;   // options.work, or own_work_.
  int64_t bytes_ = 0;
  int nesting_ = 0;
  int calls_ = 0;
  int64_t until_clock_ = 0;
  std::vector<std::shared_ptr<Object>> objects_;
};

// An object that a template makes.
class Object {
 public:
  virtual ~Object() = default;
  virtual absl::string_view type() const = 0;  // The name in errors.
  virtual absl::StatusOr<Text> Print(Runtime& runtime) const;
  virtual absl::StatusOr<std::optional<Value>> Member(Runtime& runtime, absl::string_view name);  // object.name; nullopt: no such member.
  virtual bool callable() const { return false; }
  virtual absl::StatusOr<Value> Call(Runtime& runtime, Arguments arguments);
  virtual std::vector<Value>* elements() { return nullptr; }  // Null: not iterable.
  virtual absl::Status Fill(Runtime&) { return absl::OkStatus(); }  // Called before elements().
  virtual void Clear() {}  // Drops all values that the object holds.
  // Like Value::depth. Objects that Runtime::Own keeps count as 0: such objects end with the runtime.
  virtual int depth() const { return 0; }
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

std::string TypeName(const Value& value);  // The name in errors: "none", "text", "a list", ...

}  // namespace tessera::jinja
