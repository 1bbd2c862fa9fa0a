// Changes upper and lower case, like str.upper and str.lower of Python.
//
//   ASSIGN_OR_RETURN(const Text text, Cased(runtime, value.text(), LetterCase::kLower));
//
// Changed characters keep their origin. Thread-compatible.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

enum class LetterCase { kUpper, kLower, kCapitalized, kTitle };  // kTitle: each word's first letter, with words as in the filter `title`.

absl::StatusOr<Text> Cased(Runtime& runtime, const Text& text, LetterCase wanted);
// Like str.isupper and str.islower: returns true if the text has letters, and all letters have this case.
absl::StatusOr<bool> AllOfCase(Runtime& runtime, const Text& text, bool upper);

}  // namespace tessera::jinja
