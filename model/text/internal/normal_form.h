// Normalizes text to form C of Unicode 15.0.0 (composed characters, marks in canonical order), as models were trained on it.
//
//   std::string composed;
//   absl::string_view text = NormalFormC("e\u0301", composed);     // "\u00e9"
//
// Code points that later versions have added stay as they are, whatever the installed utf8proc knows; so do bytes that are not UTF-8.
// O(n log n) for n bytes at most, O(n) for text in that form. Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// A view of `text` itself if it is in that form already, else of `composed`, which is overwritten. Both must outlive what is returned.
absl::string_view NormalFormC(absl::string_view text, std::string& composed);

}  // namespace tessera
