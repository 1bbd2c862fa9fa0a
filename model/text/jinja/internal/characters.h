// The characters of a string, as templates count them: code points. A byte that is no part of UTF-8 counts as one character of its own.
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
  size_t size;    // Its bytes.
};
Character CharacterAt(absl::string_view bytes, size_t at);  // REQUIRES: at < bytes.size().

int64_t CountCharacters(absl::string_view bytes);
size_t OffsetOf(absl::string_view bytes, int64_t character);  // The byte at which it begins; the end, if there are fewer.
size_t OffsetFromEnd(absl::string_view bytes, int64_t count);  // Where the last `count` of them begin; npos, if there are fewer.
std::string Utf8Of(uint32_t code);

bool IsSpace(uint32_t code);        // As str.isspace in Python.
bool IsLineBreak(uint32_t code);    // As str.splitlines in Python.
// False for control, format, private and separating characters: repr in Python escapes these. Code points that no version of Unicode
// has assigned yet count as printable, since which these are differs between versions of Python.
bool IsPrintable(uint32_t code);

// How many bytes of white space, or of characters in `set`, stand at the beginning or the end.
size_t LeadingSpace(absl::string_view bytes);
size_t TrailingSpace(absl::string_view bytes);
size_t LeadingOf(absl::string_view bytes, absl::string_view set);
size_t TrailingOf(absl::string_view bytes, absl::string_view set);

}  // namespace tessera::jinja
