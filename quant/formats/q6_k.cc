// Q6_K: 256 values around zero in 210 bytes, sixteen groups of 16 with a signed 8-bit scale each. 128 bytes of low halves,
// 64 bytes of top bits, 16 scales, an FP16 factor d. A value is d * scale * (q - 32).
//
// Each half of the block (128 values) is four runs of 32. Its 64 bytes of low halves: byte i holds run 0 (i < 32) or run 1
// in the low half, runs 2 and 3 in the high half. Its 32 bytes of top bits: byte i holds two bits for value i of each run.
#include "tessera/quant/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 256, kBytes = 210;

void DequantizeRun(const std::byte* lows, const std::byte* tops, const std::byte* scales, float d, int run, float* out) {
  for (int i = 0; i < 32; ++i) {
    const std::byte pair = lows[run % 2 * 32 + i];
    const int low = run < 2 ? LowNibble(pair) : HighNibble(pair);
    const int top = std::to_integer<int>(tops[i]) >> (2 * run) & 3;
    const float scale = d * static_cast<float>(static_cast<int8_t>(scales[run * 2 + i / 16]));  // Exact: 11 + 8 bits.
    out[run * 32 + i] = scale * static_cast<float>((low | top << 4) - 32);
  }
}
}  // namespace

void DequantizeQ6_K(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks + 208);
    for (int half = 0; half < 2; ++half) {
      for (int run = 0; run < 4; ++run) {
        DequantizeRun(blocks + half * 64, blocks + 128 + half * 32, blocks + 192 + half * 8, d, run, out + half * 128);
      }
    }
  }
}

}  // namespace tessera
