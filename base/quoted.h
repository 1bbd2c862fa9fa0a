// Quotes text from a file for a message, so that the text can neither control a terminal nor fill it.
//
//   absl::StrCat("found ", Quoted(text), ", expected BPE or SPM")
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// In quotes, escaped, and cut after 64 bytes.
std::string Quoted(absl::string_view text);

// The whole text, with control characters and bytes that are not UTF-8 escaped; line breaks stay. For messages that hold other texts.
std::string Printable(absl::string_view text);

// The same in one line: a line break is \n. For cells of tables.
std::string PrintableLine(absl::string_view text);

// True for UTF-8 without control characters (and so without NUL): what a key or a tensor's name may hold.
bool IsPrintableUtf8(absl::string_view text);

}  // namespace tessera
