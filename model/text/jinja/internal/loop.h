// The variable `loop` within a loop: the loop's progress, and the next elements.
//
//   auto loop = std::make_shared<Loop>(elements, test);
//   while (true) { ASSIGN_OR_RETURN(const bool more, loop->Advance()); if (!more) break; Use(loop->current()); }
//
// The loop's `if` is evaluated when an element's turn comes, or when loop.last or another member needs the result. Thread-compatible.
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
  absl::StatusOr<bool> Take();  // Takes one more element that passes the test; false: none is left.

  std::vector<Value> elements_;
  Test test_;
  size_t next_ = 0;            // The next element of elements_ to test.
  std::vector<Value> taken_;   // Elements that passed, up to one beyond the current one; all, once the length was asked for.
  int64_t place_ = -1;         // Index in taken_.
  std::optional<std::vector<Value>> changed_;  // The last arguments of loop.changed.
};

}  // namespace tessera::jinja
