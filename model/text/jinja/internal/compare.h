// Compares values like Python: equality, order, membership and truth.
//
//   if (Equal(left, right)) ...
//   ASSIGN_OR_RETURN(const bool less, Less(left, right));       // an error for values without an order, such as none and 1
//
// The origin of a text does not matter. Recursion is bounded by the depth of the values, and so by the interpreter's limits. Thread-safe
// (pure functions).
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

bool Equal(const Value& left, const Value& right);
absl::StatusOr<bool> Less(const Value& left, const Value& right);
absl::StatusOr<bool> Contains(const Value& container, const Value& element);
bool Truth(const Value& value);
absl::Status CheckHashable(const Value& value);  // Returns an error if the value cannot be a key of a dict.

}  // namespace tessera::jinja
