// Replaces the compiler's own header where AVX-512 is emulated (cmake/TesseraKernels.cmake). Provides the instructions that
// tensor/kernels/lanes_avx512.h names, each made of AVX2's. Most are SIMDe's; instructions that SIMDe's release lacks follow. An
// instruction that is in neither does not compile, because the compiler's own header needs flags that are not given.
#pragma once

#include_next <immintrin.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include <algorithm>
#include <cstdint>

// Macros of some compilers.
#undef _mm512_cvtps_ph
#undef _mm512_extractf32x8_ps

namespace tessera {  // The namespace hides the compiler's own from the lanes.

static inline __m256 LowHalf(__m512 a) { return simde__m512_to_private(a).m256[0]; }
static inline __m256 HighHalf(__m512 a) { return simde__m512_to_private(a).m256[1]; }
static inline __m256i LowHalf(__m512i a) { return simde__m512i_to_private(a).m256i[0]; }
static inline __m256i HighHalf(__m512i a) { return simde__m512i_to_private(a).m256i[1]; }
static inline __m128i LowHalf(__m256i a) { return _mm256_castsi256_si128(a); }
static inline __m128i HighHalf(__m256i a) { return _mm256_extracti128_si256(a, 1); }
static inline __m128i HighHalf(__m128i a) { return _mm_unpackhi_epi64(a, a); }

static inline __m512 Join(__m256 low, __m256 high) {
  simde__m512_private joined;
  joined.m256[0] = low;
  joined.m256[1] = high;
  return simde__m512_from_private(joined);
}
static inline __m512i Join(__m256i low, __m256i high) {
  simde__m512i_private joined;
  joined.m256i[0] = low;
  joined.m256i[1] = high;
  return simde__m512i_from_private(joined);
}

static inline __m512 _mm512_cvtph_ps(__m256i a) { return Join(_mm256_cvtph_ps(LowHalf(a)), _mm256_cvtph_ps(HighHalf(a))); }
// A macro here, too: the rounding must be a constant.
#define _mm512_cvtps_ph(a, rounding) \
  _mm256_set_m128i(_mm256_cvtps_ph(HighHalf(a), rounding), _mm256_cvtps_ph(LowHalf(a), rounding))

static inline __m512 _mm512_cvtepi32_ps(__m512i a) {
  return Join(_mm256_cvtepi32_ps(LowHalf(a)), _mm256_cvtepi32_ps(HighHalf(a)));
}
static inline __m512i _mm512_cvtps_epi32(__m512 a) {
  return Join(_mm256_cvtps_epi32(LowHalf(a)), _mm256_cvtps_epi32(HighHalf(a)));
}
static inline __m512i _mm512_cvtepi8_epi32(__m128i a) { return Join(_mm256_cvtepi8_epi32(a), _mm256_cvtepi8_epi32(HighHalf(a))); }
static inline __m512i _mm512_cvtepu8_epi32(__m128i a) { return Join(_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(HighHalf(a))); }
static inline __m512i _mm512_cvtepi16_epi32(__m256i a) {
  return Join(_mm256_cvtepi16_epi32(LowHalf(a)), _mm256_cvtepi16_epi32(HighHalf(a)));
}
static inline __m512i _mm512_cvtepu16_epi32(__m256i a) {
  return Join(_mm256_cvtepu16_epi32(LowHalf(a)), _mm256_cvtepu16_epi32(HighHalf(a)));
}
static inline __m128i _mm512_cvtepi32_epi8(__m512i a) {
  const simde__m512i_private lanes = simde__m512i_to_private(a);
  simde__m128i_private bytes;
  for (int i = 0; i < 16; ++i) bytes.i8[i] = static_cast<int8_t>(lanes.i32[i]);
  return simde__m128i_from_private(bytes);
}
static inline __m256i _mm512_cvtepi32_epi16(__m512i a) {
  const simde__m512i_private lanes = simde__m512i_to_private(a);
  simde__m256i_private words;
  for (int i = 0; i < 16; ++i) words.i16[i] = static_cast<int16_t>(lanes.i32[i]);
  return simde__m256i_from_private(words);
}

static inline __m512i _mm512_srai_epi32(__m512i a, unsigned shift) {
  return Join(_mm256_srai_epi32(LowHalf(a), static_cast<int>(shift)), _mm256_srai_epi32(HighHalf(a), static_cast<int>(shift)));
}

static inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const float* p) {
  simde__m512_private lanes;
  for (int i = 0; i < 16; ++i) lanes.f32[i] = (mask >> i & 1) != 0 ? p[i] : 0.0f;
  return simde__m512_from_private(lanes);
}
static inline void _mm512_mask_storeu_ps(float* p, __mmask16 mask, __m512 a) {
  const simde__m512_private lanes = simde__m512_to_private(a);
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) p[i] = lanes.f32[i];
  }
}

static inline __m256 _mm512_extractf32x8_ps(__m512 a, int half) { return half == 0 ? LowHalf(a) : HighHalf(a); }
static inline int32_t _mm512_reduce_add_epi32(__m512i a) {
  const simde__m512i_private lanes = simde__m512i_to_private(a);
  int32_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += lanes.i32[i];
  return sum;
}
static inline int32_t _mm512_reduce_max_epi32(__m512i a) {
  const simde__m512i_private lanes = simde__m512i_to_private(a);
  int32_t largest = lanes.i32[0];
  for (int i = 1; i < 16; ++i) largest = std::max(largest, lanes.i32[i]);
  return largest;
}

}  // namespace tessera
