// IQ4_NL: 32 values around zero in 18 bytes, laid out as Q4_0, but a code stands for a number of a code book. A value is
// d * code book[q].
#include "tessera/quant/codebook.h"
#include "tessera/quant/internal/formats/codebook_search.h"
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {
constexpr int kValues = 32, kBytes = 18;
constexpr float kEnds[] = {-143, -135, -127, -119, -111, 105, 113, 121};
}  // namespace

void DequantizeIQ4_NL(const std::byte* blocks, int64_t values, float* out) {
  for (; values > 0; values -= kValues, blocks += kBytes, out += kValues) {
    const float d = LoadHalf(blocks);
    const std::byte* pairs = blocks + 2;
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(kIq4NlCodebook[LowNibble(pairs[i])]);
      out[i + 16] = d * static_cast<float>(kIq4NlCodebook[HighNibble(pairs[i])]);
    }
  }
}

void SearchIQ4_NL(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  for (int64_t first = 0; first < values; first += kValues, blocks += kBytes) {
    const CodebookBlock best = SearchCodebook<kIq4NlCodebook, 4>(kEnds, in + first, importance == nullptr ? nullptr : importance + first);
    StoreUint16(best.scale, blocks);
    for (int i = 0; i < 16; ++i) blocks[2 + i] = static_cast<std::byte>(best.codes[i] | best.codes[i + 16] << 4);
  }
}

}  // namespace tessera
