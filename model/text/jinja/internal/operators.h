// Arithmetic like Python's, within 64 bits: a larger integer is an error.
//
//   ASSIGN_OR_RETURN(const Value sum, Arithmetic(runtime, "+", left, right));        // numbers, texts, lists
//
// Thread-compatible.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/jinja/internal/runtime.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

absl::StatusOr<Value> Arithmetic(Runtime& runtime, absl::string_view operation, const Value& left, const Value& right);
absl::StatusOr<bool> Compare(Runtime& runtime, absl::string_view operation, const Value& left, const Value& right);
absl::StatusOr<Value> Signed(absl::string_view sign, const Value& value);
absl::StatusOr<Value> Concatenate(Runtime& runtime, const std::vector<Value>& values);  // a ~ b ~ c

// Returns values[first:last:step]; a bound that is none or absent is the default.
absl::StatusOr<Value> Slice(Runtime& runtime, const Value& of, const Value& first, const Value& last, const Value& step);

absl::StatusOr<Text> EscapedHtml(Runtime& runtime, const Text& text);
}  // namespace tessera::jinja
