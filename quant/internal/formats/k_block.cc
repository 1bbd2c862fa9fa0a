#include "tessera/quant/internal/formats/k_block.h"

namespace tessera {

// After the factors, bytes 0-3 hold the scales of runs 0-3 in six bits, bytes 4-7 the minima of runs 0-3. Runs 4-7 have the low four bits
// in bytes 8-11 (scale low, minimum high) and the top two bits in the free bits of bytes 0-7.
KBlock UnpackSixBitScales(const std::byte* bytes) {
  KBlock block;
  block.factor = LoadUint16(bytes);
  block.minimum_factor = LoadUint16(bytes + 2);
  const std::byte* packed = bytes + 4;
  for (int run = 0; run < 4; ++run) {
    const int scale = std::to_integer<int>(packed[run]), minimum = std::to_integer<int>(packed[run + 4]);
    block.scales[run] = static_cast<int8_t>(scale & 63);
    block.minima[run] = static_cast<uint8_t>(minimum & 63);
    block.scales[run + 4] = static_cast<int8_t>(LowNibble(packed[run + 8]) | scale >> 6 << 4);
    block.minima[run + 4] = static_cast<uint8_t>(HighNibble(packed[run + 8]) | minimum >> 6 << 4);
  }
  return block;
}

void PackSixBitScales(const KBlock& block, std::byte* bytes) {
  StoreUint16(block.factor, bytes);
  StoreUint16(block.minimum_factor, bytes + 2);
  for (int run = 0; run < 4; ++run) {
    const int scale = block.scales[run + 4], minimum = block.minima[run + 4];
    bytes[4 + run] = static_cast<std::byte>(block.scales[run] | scale >> 4 << 6);
    bytes[8 + run] = static_cast<std::byte>(block.minima[run] | minimum >> 4 << 6);
    bytes[12 + run] = static_cast<std::byte>((scale & 15) | (minimum & 15) << 4);
  }
}

}  // namespace tessera
