// The 256 printable characters that byte-level vocabularies use for bytes: "Ġ" (U+0120) for a space, "a" for an "a".
//
//   ByteCharacter(' ');            // "Ġ", as UTF-8
//   BytesFromAlphabet("Ġhello");   // " hello"
//
// The table is GPT-2's: the printable bytes of Latin-1 represent themselves; the other 68 bytes become U+0100 and up, in order.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

std::string ByteCharacter(uint8_t byte);

// Converts characters of the alphabet to bytes. Other characters, and bytes that are not UTF-8, are kept.
std::string BytesFromAlphabet(absl::string_view text);

}  // namespace tessera
