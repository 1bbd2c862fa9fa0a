// T2: 32 values in 10 bytes, 2.5 bits each: an FP16 scale d and codes of two bits (few_bits.h). A value is d * code book[q].
//
// The code book's numbers were found by Lloyd's algorithm on groups of 32 Gaussian numbers, each under the best scale of this search.
#include "tessera/quant/internal/formats/few_bits.h"

namespace tessera {
namespace {
// With four numbers, much of the largest value is cut off, and more if no other value is near the largest.
constexpr float kEnds[] = {-96, 96, -112, 112, -128, 128, -144, 144, -160, 160, -176, 176,
                           -192, 192, -208, 208, -224, 224, -240, 240, -256, 256};
}  // namespace

void DequantizeT2(const std::byte* blocks, int64_t values, float* out) { DequantizeFewBits<kT2Codebook, 2>(blocks, values, out); }

void SearchT2(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  SearchFewBits<kT2Codebook, 2>(kEnds, in, importance, values, blocks);
}

}  // namespace tessera
