#include "tessera/model/text/byte_alphabet.h"

#include <array>

namespace tessera {
namespace {

constexpr int kFirstStandIn = 0x100;
constexpr int kStandIns = 68;

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

// Returns the bytes that U+0100, U+0101, ... represent.
constexpr std::array<uint8_t, kStandIns> StandInBytes() {
  std::array<uint8_t, kStandIns> bytes{};
  int count = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (!StandsForItself(byte)) bytes[count++] = static_cast<uint8_t>(byte);
  }
  return bytes;
}
constexpr std::array<uint8_t, kStandIns> kStandInBytes = StandInBytes();

}  // namespace

std::string ByteCharacter(uint8_t byte) {
  int character = byte;
  if (!StandsForItself(byte)) {
    int index = 0;
    while (kStandInBytes[index] != byte) ++index;
    character = kFirstStandIn + index;
  }
  if (character < 0x80) return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xC0 | character >> 6), static_cast<char>(0x80 | (character & 0x3F))};
}

std::string BytesFromAlphabet(absl::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t lead = static_cast<uint8_t>(text[i]);
    const uint8_t next = i + 1 < text.size() ? static_cast<uint8_t>(text[i + 1]) : 0;
    const bool pair = lead >= 0xC2 && lead <= 0xDF && (next & 0xC0) == 0x80;
    const int character = pair ? (lead & 0x1F) << 6 | (next & 0x3F) : lead;
    if (pair && character <= 0xFF && StandsForItself(character)) {
      bytes.push_back(static_cast<char>(character));
    } else if (pair && character >= kFirstStandIn && character < kFirstStandIn + kStandIns) {
      bytes.push_back(static_cast<char>(kStandInBytes[character - kFirstStandIn]));
    } else {
      bytes.append(text.data() + i, pair ? 2 : 1);
    }
    i += pair ? 1 : 0;
  }
  return bytes;
}

}  // namespace tessera
