// Normalizes text to form C of Unicode 15.0.0 (composed characters, marks in canonical order), the form of models' training texts.
//
//   std::string composed;
//   absl::string_view text = NormalFormC("e\u0301", composed);     // "\u00e9"
//
// Code points from later versions stay unchanged, regardless of the installed utf8proc, and so do bytes that are not UTF-8. At most O(n log
// n) for n bytes; O(n) for text already in form C. Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns a view of `text` itself if `text` is already in form C; otherwise overwrites `composed` and returns a view of `composed`. Both
// must outlive the returned view.
absl::string_view NormalFormC(absl::string_view text, std::string& composed);

}  // namespace tessera
