// The 256 printable characters by which byte-level vocabularies write bytes: "Ġ" (U+0120) for a space, "a" for an "a".
//
//   ByteCharacter(' ');            // "Ġ", as UTF-8
//   BytesFromAlphabet("Ġhello");   // " hello"
//
// GPT-2's table: the printable bytes of Latin-1 stand for themselves, the other 68 for U+0100 and up, in order. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

std::string ByteCharacter(uint8_t byte);

// Characters outside the alphabet, and bytes that are not UTF-8, are kept as they are.
std::string BytesFromAlphabet(absl::string_view text);

}  // namespace tessera
