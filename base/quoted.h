// Quotes text from a file for a message: the text can neither control a terminal, nor fill the screen, nor look like another text.
//
//   absl::StrCat("found ", Quoted(text), ", expected BPE or SPM")
//
// Escaped are control characters (U+0000 to U+001F, U+007F to U+009F), the separators of lines and paragraphs (U+2028, U+2029), and all
// invisible characters. Invisible are marks that turn the direction of writing (U+202E and others), characters without width, tags and
// variation selectors (Default_Ignorable_Code_Point of Unicode, and U+FFF9 to U+FFFB).
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the text in quotes, escaped, and cut after 64 bytes.
std::string Quoted(absl::string_view text);

// Returns the whole text, with such characters and bytes that are not UTF-8 escaped; line breaks stay. For messages that contain other
// texts.
std::string Printable(absl::string_view text);

// As Printable, in one line: a line break becomes \n. For cells of tables.
std::string PrintableLine(absl::string_view text);

// Returns true for UTF-8 without such characters (and so without NUL): valid for a key or a tensor's name.
bool IsPrintableUtf8(absl::string_view text);

}  // namespace tessera
