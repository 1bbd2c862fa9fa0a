// The variable `loop` within a loop: how far it is, and what comes next.
//
//   auto loop = std::make_shared<Loop>(elements, test);
//   while (true) { ASSIGN_OR_RETURN(const bool more, loop->Advance()); if (!more) break; Use(loop->current()); }
//
// A loop's `if` is asked when an element's turn comes, or when loop.last or another member needs to know. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

class Loop : public Object {
 public:
  using Test = std::function<absl::StatusOr<bool>(const Value& element)>;

  Loop(std::vector<Value> elements, Test test) : elements_(std::move(elements)), test_(std::move(test)) {}

  absl::StatusOr<bool> Advance();
  const Value& current() const { return taken_[static_cast<size_t>(place_)]; }

  absl::string_view type() const override { return "loop"; }
  absl::StatusOr<std::optional<Value>> Member(Runtime& runtime, absl::string_view name) override;
  void Clear() override;

 private:
  friend class LoopMethod;
  absl::StatusOr<bool> Take();  // One more element that passes the test; false: there is none.

  std::vector<Value> elements_;
  Test test_;
  size_t next_ = 0;            // The element of elements_ to be judged.
  std::vector<Value> taken_;   // Those that passed, up to one beyond the current; all, once the length was asked for.
  int64_t place_ = -1;         // In taken_.
  std::optional<std::vector<Value>> changed_;  // What loop.changed was called with last.
};

}  // namespace tessera::jinja
