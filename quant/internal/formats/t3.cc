// T3: 32 values in 14 bytes, 3.5 bits each: an FP16 scale d and codes of three bits (few_bits.h). A value is d * code book[q].
//
// The code book's numbers were found by Lloyd's algorithm on groups of 32 Gaussian numbers, each under the best scale of this search.
#include "tessera/quant/internal/formats/few_bits.h"

namespace tessera {
namespace {
constexpr float kEnds[] = {-96, 96, -104, 104, -112, 112, -120, 120, -128, 128, -136, 136,
                           -144, 144, -152, 152, -160, 160, -168, 168, -176, 176, -184, 184};
}  // namespace

void DequantizeT3(const std::byte* blocks, int64_t values, float* out) { DequantizeFewBits<kT3Codebook, 3>(blocks, values, out); }

void SearchT3(const float* in, const float* importance, int64_t values, std::byte* blocks) {
  SearchFewBits<kT3Codebook, 3>(kEnds, in, importance, values, blocks);
}

}  // namespace tessera
