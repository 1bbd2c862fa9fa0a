// Work on texts that filters and methods share.
//
//   ASSIGN_OR_RETURN(const Value trimmed, Stripped(runtime, text, Value::None(), true, true));
//
// All keep where each byte came from. Thread-compatible.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

// Without white space, or the characters of `set` unless it is none, at its beginning, its end or both.
absl::StatusOr<Value> Stripped(Runtime& runtime, const Text& text, const Value& set, bool left, bool right);
// At most `count` times, unless it is negative.
absl::StatusOr<Value> Replaced(Runtime& runtime, const Text& text, const Text& from, const Text& to, int64_t count);
absl::StatusOr<std::vector<Text>> Lines(Runtime& runtime, const Text& text, bool keep_ends);  // As str.splitlines in Python.
absl::StatusOr<Value> Centered(Runtime& runtime, const Value& self, const Arguments& arguments);  // (width, fill = " ")

}  // namespace tessera::jinja
