// Functions on texts that filters and methods share.
//
//   ASSIGN_OR_RETURN(const Value trimmed, Stripped(runtime, text, Value::None(), true, true));
//
// Each byte keeps its origin. Thread-compatible.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

// Strips white space, or the characters of `set` unless `set` is none, from the text's start, end or both.
absl::StatusOr<Value> Stripped(Runtime& runtime, const Text& text, const Value& set, bool left, bool right);
// Replaces at most `count` times; a negative `count` means no limit.
absl::StatusOr<Value> Replaced(Runtime& runtime, const Text& text, const Text& from, const Text& to, int64_t count);
absl::StatusOr<std::vector<Text>> Lines(Runtime& runtime, const Text& text, bool keep_ends);  // Like str.splitlines in Python.
absl::StatusOr<Value> Centered(Runtime& runtime, const Value& self, const Arguments& arguments);  // (width, fill = " ")

}  // namespace tessera::jinja
