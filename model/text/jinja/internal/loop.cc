#include "tessera/model/text/jinja/internal/loop.h"

#include <algorithm>
#include <memory>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {

// loop.cycle and loop.changed.
class LoopMethod : public Object {
 public:
  LoopMethod(Loop& loop, bool cycle) : loop_(loop), cycle_(cycle) {}
  absl::string_view type() const override { return "function"; }
  bool callable() const override { return true; }
  absl::StatusOr<Value> Call(Runtime& runtime, Arguments arguments) override {
    for (const Value& each : arguments.positional) RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(each.weight())));
    if (!arguments.named.empty()) return Fail("found an argument with a name for a method of loop");
    if (!cycle_) {
      const bool same = loop_.changed_ && std::equal(loop_.changed_->begin(), loop_.changed_->end(), arguments.positional.begin(),
                                                     arguments.positional.end(), Equal);
      loop_.changed_ = std::move(arguments.positional);
      return Value::Bool(!same);
    }
    if (arguments.positional.empty()) return Fail("cycle: found no values");
    return arguments.positional[static_cast<size_t>(loop_.place_) % arguments.positional.size()];
  }

 private:
  Loop& loop_;  // The runtime owns the loop as long as this method.
  const bool cycle_;
};

absl::StatusOr<bool> Loop::Take() {
  while (next_ < elements_.size()) {
    const Value& element = elements_[next_++];
    bool passes = true;
    if (test_ != nullptr) {
      ASSIGN_OR_RETURN(passes, test_(element));
    }
    if (!passes) continue;
    taken_.push_back(element);
    return true;
  }
  return false;
}

absl::StatusOr<bool> Loop::Advance() {
  ++place_;
  if (place_ < static_cast<int64_t>(taken_.size())) return true;
  return Take();
}

absl::StatusOr<std::optional<Value>> Loop::Member(Runtime& runtime, absl::string_view name) {
  using Found = std::optional<Value>;
  if (name == "index") return Found(Value::Int(place_ + 1));
  if (name == "index0") return Found(Value::Int(place_));
  if (name == "first") return Found(Value::Bool(place_ == 0));
  if (name == "depth") return Found(Value::Int(1));
  if (name == "depth0") return Found(Value::Int(0));
  if (name == "previtem")
    return Found(place_ > 0 ? taken_[static_cast<size_t>(place_ - 1)] : Value::Undefined("the item before the first"));
  if (name == "cycle" || name == "changed") {
    ASSIGN_OR_RETURN(Value method, runtime.Own(std::make_shared<LoopMethod>(*this, name == "cycle")));
    return Found(std::move(method));
  }
  if (name == "last" || name == "nextitem") {
    bool more = place_ + 1 < static_cast<int64_t>(taken_.size());
    if (!more) {
      ASSIGN_OR_RETURN(more, Take());
    }
    if (name == "last") return Found(Value::Bool(!more));
    return Found(more ? taken_[static_cast<size_t>(place_ + 1)] : Value::Undefined("the item behind the last"));
  }
  if (name != "length" && name != "revindex" && name != "revindex0") return Found();
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, Take());
  }
  const int64_t length = static_cast<int64_t>(taken_.size());
  return Found(Value::Int(name == "length" ? length : length - place_ - (name == "revindex" ? 0 : 1)));
}

void Loop::Clear() {
  elements_.clear();
  taken_.clear();
  test_ = nullptr;
  changed_.reset();
}

}  // namespace tessera::jinja
