// Reads UTF-8 one character at a time, and classifies bytes that are not UTF-8.
//
//   while (!text.empty()) {
//     Utf8Sequence sequence = ReadUtf8(text);
//     if (sequence.state == Utf8State::kValid) Use(text.substr(0, sequence.size));
//     text.remove_prefix(sequence.size);
//   }
//
// Surrogates, overlong forms and values above U+10FFFF are invalid (Unicode 15, table 3-7). Thread-safe (pure functions).
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace tessera {

inline constexpr absl::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8State {
  kValid,       // One character.
  kInvalid,     // Bytes that no continuation can complete; one U+FFFD replaces all of the bytes.
  kIncomplete,  // The text ends inside a sequence that may still become a character.
};

struct Utf8Sequence {
  size_t size;  // Bytes, at least 1.
  Utf8State state;
};

// Returns the sequence at the start of the text. REQUIRES: text is not empty.
Utf8Sequence ReadUtf8(absl::string_view text);

// Returns the bytes of the longest prefix below 0x80.
size_t AsciiPrefix(absl::string_view text);

// Returns the bytes of the longest prefix that is valid UTF-8.
size_t ValidUtf8Prefix(absl::string_view text);

}  // namespace tessera
