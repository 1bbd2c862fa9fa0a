// The characters of a string, as templates count characters: code points. A byte that is no part of UTF-8 counts as one character.
//
//   for (size_t at = 0; at < bytes.size();) {
//     const Character character = CharacterAt(bytes, at);
//     at += character.size;
//   }
//
// Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::jinja {

struct Character {
  uint32_t code;  // 0xDC00 + byte for a byte that is no part of UTF-8.
  size_t size;    // In bytes.
};
Character CharacterAt(absl::string_view bytes, size_t at);  // REQUIRES: at < bytes.size().

int64_t CountCharacters(absl::string_view bytes);
size_t OffsetOf(absl::string_view bytes, int64_t character);  // First byte of the character; the end, if there are fewer characters.
size_t OffsetFromEnd(absl::string_view bytes, int64_t count);  // Start of the last `count` characters; npos, if there are fewer.
std::string Utf8Of(uint32_t code);

bool IsSpace(uint32_t code);        // Like str.isspace in Python.
bool IsLineBreak(uint32_t code);    // Like str.splitlines in Python.
// Returns false for control, format, private and separating characters, which repr in Python escapes. Code points without an assignment in
// any version of Unicode count as printable, since versions of Python differ there.
bool IsPrintable(uint32_t code);

// Returns the number of bytes of white space, or of characters in `set`, at the start or the end.
size_t LeadingSpace(absl::string_view bytes);
size_t TrailingSpace(absl::string_view bytes);
size_t LeadingOf(absl::string_view bytes, absl::string_view set);
size_t TrailingOf(absl::string_view bytes, absl::string_view set);

}  // namespace tessera::jinja
