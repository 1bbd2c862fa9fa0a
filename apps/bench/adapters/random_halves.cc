#include "tessera/apps/bench/adapters/random_halves.h"

namespace tessera {

std::vector<std::byte> RandomHalves(int64_t count, SeededRandom& random) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * sizeof(uint16_t));
  auto* const halves = reinterpret_cast<uint16_t*>(bytes.data());
  for (int64_t i = 0; i < count;) {
    uint64_t bits = random.Next();
    for (int word = 0; word < 4 && i < count; ++word, bits >>= 16) halves[i++] = static_cast<uint16_t>((bits & 0x8fff) | 0x2000);
  }
  return bytes;
}

}  // namespace tessera
