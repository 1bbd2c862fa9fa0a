#include "tessera/model/text/internal/utf8.h"

#include <cstdint>
#include <cstring>

namespace tessera {
namespace {

// The number of bytes behind a lead byte, and the values allowed for the first of these bytes; the others are 80..BF.
struct Lead {
  int following;  // -1: not a lead byte.
  uint8_t least;
  uint8_t most;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {0, 0, 0};
  if (byte < 0xC2) return {-1, 0, 0};
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};  // Below A0: overlong.
  if (byte == 0xED) return {2, 0x80, 0x9F};  // Above 9F: surrogates.
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};  // Below 90: overlong.
  if (byte < 0xF4) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};  // Above 8F: beyond U+10FFFF.
  return {-1, 0, 0};
}

}  // namespace

Utf8Sequence ReadUtf8(absl::string_view text) {
  const Lead lead = LeadOf(static_cast<uint8_t>(text[0]));
  if (lead.following < 0) return {1, Utf8State::kInvalid};
  const size_t size = static_cast<size_t>(lead.following) + 1;
  for (size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {i, Utf8State::kIncomplete};
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const uint8_t least = i == 1 ? lead.least : 0x80;
    const uint8_t most = i == 1 ? lead.most : 0xBF;
    if (byte < least || byte > most) return {i, Utf8State::kInvalid};
  }
  return {size, Utf8State::kValid};
}

size_t AsciiPrefix(absl::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t position = 0;
  for (uint64_t eight; position + sizeof eight <= text.size(); position += sizeof eight) {
    std::memcpy(&eight, text.data() + position, sizeof eight);
    if ((eight & kHighBits) != 0) break;
  }
  while (position < text.size() && static_cast<uint8_t>(text[position]) < 0x80) ++position;
  return position;
}

size_t ValidUtf8Prefix(absl::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    position += AsciiPrefix(text.substr(position));
    if (position == text.size()) break;
    const Utf8Sequence sequence = ReadUtf8(text.substr(position));
    if (sequence.state != Utf8State::kValid) break;
    position += sequence.size;
  }
  return position;
}

}  // namespace tessera
