#include "tessera/model/files/internal/exact_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <glog/logging.h>

#include "tessera/base/half.h"
#include "tessera/quant/codebook.h"

namespace tessera {
namespace {

constexpr int kValues = 32;
constexpr int kNoCode = -1;

// The numbers of a format's codes.
struct Codes {
  std::vector<int> numbers = {};        // The largest magnitudes first: tools give the largest of a block such a code.
  std::array<int, 257> code_of = {};    // By number + 128.
};

Codes CodesOf(BlockFormat format) {
  Codes codes;
  codes.code_of.fill(kNoCode);
  const auto add = [&](int number, int code) {
    codes.numbers.push_back(number);
    codes.code_of[number + 128] = code;
  };
  if (format == BlockFormat::kQ4_0) {
    for (int number = -8; number < 8; ++number) add(number, number + 8);
  } else if (format == BlockFormat::kQ8_0) {
    for (int number = -128; number < 128; ++number) add(number, number & 0xFF);
  } else {
    CHECK(format == BlockFormat::kIQ4_NL) << InfoOf(format).name;
    for (int code = 0; code < 16; ++code) add(kIq4NlCodebook[code], code);
  }
  // -128 of Q8_0 comes last: tools do not write it.
  const auto rank = [&](int number) { return format == BlockFormat::kQ8_0 && number == -128 ? -1 : std::abs(number); };
  std::stable_sort(codes.numbers.begin(), codes.numbers.end(), [&](int a, int b) { return rank(a) > rank(b); });
  return codes;
}

const Codes& CodesFor(BlockFormat format) {
  static const Codes q4 = CodesOf(BlockFormat::kQ4_0), q8 = CodesOf(BlockFormat::kQ8_0), iq4 = CodesOf(BlockFormat::kIQ4_NL);
  return format == BlockFormat::kQ4_0 ? q4 : format == BlockFormat::kQ8_0 ? q8 : iq4;
}

// Finds the codes of `in` under this scale; false if a number has no code. Products of an FP16 scale and a number are exact in FP32.
bool FindCodes(const Codes& codes, const float* in, float scale, int* out) {
  for (int i = 0; i < kValues; ++i) {
    const float ratio = in[i] / scale;
    if (!(std::fabs(ratio) <= 128)) return false;
    const int number = static_cast<int>(std::lround(ratio));
    out[i] = codes.code_of[number + 128];
    if (out[i] == kNoCode || scale * static_cast<float>(number) != in[i]) return false;
  }
  return true;
}

// Finds an FP16 scale and codes that give these numbers.
bool FindBlock(BlockFormat format, const float* in, uint16_t* scale, int* out) {
  const Codes& codes = CodesFor(format);
  const float largest = *std::max_element(in, in + kValues, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  if (largest == 0) {
    *scale = 0;
    std::fill_n(out, kValues, format == BlockFormat::kQ4_0 ? 8 : 0);
    return std::all_of(in, in + kValues, [](float x) { return x == 0; });  // A NaN is none.
  }
  for (const bool as_written : {true, false}) {  // Q8_0 has scales above zero.
    for (const int number : codes.numbers) {
      if (number == 0) continue;
      const float wanted = largest / static_cast<float>(number);
      if (as_written && format == BlockFormat::kQ8_0 && wanted < 0) continue;
      *scale = FloatToHalf(wanted);
      if (HalfToFloat(*scale) == wanted && std::isfinite(wanted) && FindCodes(codes, in, wanted, out)) return true;
    }
  }
  return false;
}

}  // namespace

bool MakeExactBlocks(BlockFormat format, const float* numbers, int64_t count, std::byte* blocks) {
  const int bytes = InfoOf(format).bytes_per_block;
  for (; count > 0; count -= kValues, numbers += kValues, blocks += bytes) {
    uint16_t scale = 0;
    int codes[kValues];
    if (!FindBlock(format, numbers, &scale, codes)) return false;
    std::memcpy(blocks, &scale, sizeof scale);
    std::byte* const packed = blocks + sizeof scale;
    if (format == BlockFormat::kQ8_0) {
      std::transform(codes, codes + kValues, packed, [](int code) { return static_cast<std::byte>(code); });
    } else {
      for (int i = 0; i < kValues / 2; ++i) packed[i] = static_cast<std::byte>(codes[i] | codes[i + kValues / 2] << 4);
    }
  }
  return true;
}

}  // namespace tessera
