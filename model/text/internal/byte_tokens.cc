#include "tessera/model/text/internal/byte_tokens.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"

namespace tessera {

int ByteOf(absl::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  int byte = 0;
  for (char digit : text.substr(3, 2)) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit))) return -1;
    byte = byte * 16 + (absl::ascii_isdigit(static_cast<unsigned char>(digit)) ? digit - '0' : absl::ascii_tolower(digit) - 'a' + 10);
  }
  return byte;
}

void TypeByteTokens(TokenizerFacts& facts) {
  constexpr int32_t kNormal = 1, kByte = 6;
  if (!facts.tokens.value.has_value() || !facts.types.problem.ok()) return;
  const LengthPrefixedStrings& texts = *facts.tokens.value;
  std::optional<std::vector<int32_t>>& types = facts.types.value;
  if (types.has_value() && (types->size() != texts.size() || std::count(types->begin(), types->end(), kByte) >= 256)) return;
  std::array<bool, 256> typed{};
  const auto for_each_byte = [&](const auto& use) {
    size_t id = 0;
    for (absl::string_view text : texts) {
      if (const int byte = ByteOf(text); byte >= 0) use(id, byte);
      ++id;
    }
  };
  for_each_byte([&](size_t id, int byte) { typed[byte] = typed[byte] || (types.has_value() && (*types)[id] == kByte); });
  for_each_byte([&](size_t id, int byte) {
    if (typed[byte]) return;
    if (!types.has_value()) types.emplace(texts.size(), kNormal);
    (*types)[id] = kByte;
  });
}

}  // namespace tessera
