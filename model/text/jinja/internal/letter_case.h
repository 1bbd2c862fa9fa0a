// Upper and lower case, as str.upper and str.lower of Python.
//
//   ASSIGN_OR_RETURN(const Text text, Cased(runtime, value.text(), LetterCase::kLower));
//
// What was changed keeps its origin. Thread-compatible.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

enum class LetterCase { kUpper, kLower, kCapitalized, kTitle };  // kTitle: each word's first letter, as the filter `title` sees words.

absl::StatusOr<Text> Cased(Runtime& runtime, const Text& text, LetterCase wanted);
// As str.isupper and str.islower: it has letters, and all are of this case.
absl::StatusOr<bool> AllOfCase(Runtime& runtime, const Text& text, bool upper);

}  // namespace tessera::jinja
