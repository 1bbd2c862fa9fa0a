// Sixteen lanes in one AVX-512 register, with the bits of lanes_portable.h. Include only from *_avx512.cc files.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/base/cpu_features.h"

#define TESSERA_INLINE static inline __attribute__((always_inline))

namespace tessera {

struct LanesAvx512 {
  static constexpr KernelPath kPath = KernelPath::kAvx512Vnni;
  using Float = __m512;
  using Int = __m512i;
  using Bytes = __m512i;
  // Attention (npu/host/kernels/attention_kernel.h): number of sixteen-lane sums that stay in registers.
  static constexpr int kSums = 24;
  static constexpr int kRowsOfSumsInRegisters = 8;

  TESSERA_INLINE Float Zero() { return _mm512_setzero_ps(); }
  TESSERA_INLINE Float Set(float x) { return _mm512_set1_ps(x); }
  TESSERA_INLINE Float Load(const float* p) { return _mm512_loadu_ps(p); }
  TESSERA_INLINE Float LoadPartial(const float* p, int n) { return _mm512_maskz_loadu_ps(Mask(n), p); }
  TESSERA_INLINE Float LoadHalf(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  TESSERA_INLINE Float LoadBFloat16(const uint16_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
  template <int kShift>
  TESSERA_INLINE Float LoadNibbles(const uint8_t* p) {
    const __m128i bytes = _mm_srli_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), kShift);
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(bytes, _mm_set1_epi8(15))));
  }
  TESSERA_INLINE Float LoadSigned8(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  TESSERA_INLINE void Store(float* p, Float x) { _mm512_storeu_ps(p, x); }
  TESSERA_INLINE void StorePartial(float* p, Float x, int n) { _mm512_mask_storeu_ps(p, Mask(n), x); }
  TESSERA_INLINE void StoreHalf(uint16_t* p, Float x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  TESSERA_INLINE Float RoundToHalf(Float a) {
    return _mm512_cvtph_ps(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  TESSERA_INLINE Float Add(Float a, Float b) { return _mm512_add_ps(a, b); }
  TESSERA_INLINE Float Sub(Float a, Float b) { return _mm512_sub_ps(a, b); }
  TESSERA_INLINE Float Mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  TESSERA_INLINE Float Div(Float a, Float b) { return _mm512_div_ps(a, b); }
  TESSERA_INLINE Float Fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  TESSERA_INLINE Float Max(Float a, Float b) { return _mm512_max_ps(a, b); }
  TESSERA_INLINE Float Min(Float a, Float b) { return _mm512_min_ps(a, b); }
  TESSERA_INLINE Float Negate(Float a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
  TESSERA_INLINE Float ZeroBelow(Float x, Float limit, Float result) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(limit, x, _CMP_LE_OQ), result);
  }
  TESSERA_INLINE Float Round(Float a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  TESSERA_INLINE Float ScaleByPowerOfTwo(Float x, Float n) {
    const __m512i bits = _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23);
    return _mm512_mul_ps(x, _mm512_castsi512_ps(bits));
  }
  TESSERA_INLINE float Sum(Float a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  TESSERA_INLINE float Largest(Float a) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  TESSERA_INLINE Int MaxMagnitudeBits(Int bits, Float a) {
    return _mm512_max_epi32(bits, _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7fffffff)));
  }
  TESSERA_INLINE int32_t LargestInt(Int a) { return _mm512_reduce_max_epi32(a); }
  TESSERA_INLINE Int RoundToInt(Float a) { return _mm512_cvtps_epi32(a); }
  TESSERA_INLINE void StoreSigned8(int8_t* p, Int a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
  }
  TESSERA_INLINE int32_t SumInt(Int a) { return _mm512_reduce_add_epi32(a); }
  TESSERA_INLINE Int SumOfEach(const Int (&a)[16]) {
    return Joined(a, [](__m512i x, __m512i y) __attribute__((always_inline)) { return _mm512_add_epi32(x, y); });
  }
  TESSERA_INLINE Int LargestOfEach(const Int (&a)[16]) {
    return Joined(a, [](__m512i x, __m512i y) __attribute__((always_inline)) { return _mm512_max_epi32(x, y); });
  }
  TESSERA_INLINE Int SwapHalves(Int a) { return _mm512_shuffle_i32x4(a, a, 0x4e); }
  TESSERA_INLINE Int MulInt(Int a, int32_t b) { return _mm512_mullo_epi32(a, _mm512_set1_epi32(b)); }
  TESSERA_INLINE void StoreInt(int32_t* p, Int a) { _mm512_storeu_si512(p, a); }
  TESSERA_INLINE Int LoadInt(const void* p) { return _mm512_loadu_si512(p); }
  TESSERA_INLINE Int LoadWords(const void* p) { return _mm512_cvtepi16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p))); }
  TESSERA_INLINE Int LoadUnsigned8(const void* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))); }
  template <int kShift>
  TESSERA_INLINE Int ShiftLeft(Int a) { return _mm512_slli_epi32(a, kShift); }
  template <int kShift>
  TESSERA_INLINE Int ShiftRight(Int a) { return _mm512_srli_epi32(a, kShift); }
  template <int kShift>
  TESSERA_INLINE Int ShiftRightSigned(Int a) { return _mm512_srai_epi32(a, kShift); }
  TESSERA_INLINE Float LookUp(Float table, Int codes) { return _mm512_permutexvar_ps(codes, table); }
  TESSERA_INLINE Float LowHalves(Int a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }
  TESSERA_INLINE void Transpose(const int32_t (*a)[8], int32_t (*to)[8]) {
    __m256i four[2][4];  // four[h][k]: rows 4 h to 4 h + 3 of columns k and k + 4.
    for (int h = 0; h < 2; ++h) {
      __m256i v[4];
      for (int i = 0; i < 4; ++i) v[i] = _mm256_load_si256(reinterpret_cast<const __m256i*>(a[4 * h + i]));
      const __m256i low01 = _mm256_unpacklo_epi32(v[0], v[1]), low23 = _mm256_unpacklo_epi32(v[2], v[3]);
      const __m256i high01 = _mm256_unpackhi_epi32(v[0], v[1]), high23 = _mm256_unpackhi_epi32(v[2], v[3]);
      four[h][0] = _mm256_unpacklo_epi64(low01, low23);
      four[h][1] = _mm256_unpackhi_epi64(low01, low23);
      four[h][2] = _mm256_unpacklo_epi64(high01, high23);
      four[h][3] = _mm256_unpackhi_epi64(high01, high23);
    }
    for (int k = 0; k < 4; ++k) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(to[k]), _mm256_permute2x128_si256(four[0][k], four[1][k], 0x20));
      _mm256_store_si256(reinterpret_cast<__m256i*>(to[k + 4]), _mm256_permute2x128_si256(four[0][k], four[1][k], 0x31));
    }
  }
  TESSERA_INLINE Int AddInt(Int a, Int b) { return _mm512_add_epi32(a, b); }

  TESSERA_INLINE Int SetInt(int32_t x) { return _mm512_set1_epi32(x); }
  TESSERA_INLINE Float AsFloat(Int a) { return _mm512_castsi512_ps(a); }
  TESSERA_INLINE Float ToFloat(Int a) { return _mm512_cvtepi32_ps(a); }

  TESSERA_INLINE void StoreBytes(std::byte* p, Bytes a) { _mm512_store_si512(p, a); }
  TESSERA_INLINE Bytes LoadBytes(const std::byte* p) { return _mm512_load_si512(p); }
  // Moves bits up by additions: more units can add than shift (twice as many on Zen 4), and products need the unit for shifts.
  template <int kShift, int kMask, int kTo>
  TESSERA_INLINE Bytes Field(Bytes a) {
    for (int bit = kShift; bit < kTo; ++bit) a = _mm512_add_epi8(a, a);
    if constexpr (kShift > kTo) a = _mm512_srli_epi16(a, kShift - kTo);
    return _mm512_and_si512(a, _mm512_set1_epi8(static_cast<char>(kMask << kTo)));
  }
  TESSERA_INLINE Bytes Lookup(const uint8_t* table, Bytes a) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table))), a);
  }
  TESSERA_INLINE Bytes Or(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }

  // vpdpbusd and vpdpwssd add up in 32 bits.
  struct Products8 {
    static constexpr int kRowsAtOnce = 8, kTilesTogether = 2;
    template <int kBits>
    static constexpr int kPlanes = 1;
    template <int kBits>
    static constexpr int kTakenOff = 0;
    template <int kBits>
    static constexpr int kQuadsOfPairs = 8;
    using Weights = Bytes;
    using Pairs = Int;

    TESSERA_INLINE void StoreValues(int8_t* p, Int a) { StoreSigned8(p, a); }
    template <int kBits, int kPlane>
    TESSERA_INLINE Weights TakePlane(Bytes w) { return w; }
    TESSERA_INLINE Pairs BeginPairs(Int sum) { return sum; }
    TESSERA_INLINE Pairs Dot(Pairs sum, Weights w, const int8_t* q) { return _mm512_dpbusd_epi32(sum, w, Broadcast(q)); }
    template <int kPlane>
    TESSERA_INLINE Int EndPairs(Int, Pairs sum) { return sum; }
  };

  // One vector has words of inputs 0 and 2 of a quad, another has words of inputs 1 and 3. A mask and a shift widen weights to words.
  struct Products16 : Products8 {
    struct Weights { __m512i even, odd; };

    TESSERA_INLINE void StoreValues(int8_t* p, Int a) {
      const __m256i words = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(_mm512_cvtepi32_epi16(a), 0xd8), 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), words);
    }
    template <int kBits, int kPlane>
    TESSERA_INLINE Weights TakePlane(Bytes w) {
      return {_mm512_and_si512(w, _mm512_set1_epi16(0xff)), _mm512_srli_epi16(w, 8)};
    }
    TESSERA_INLINE Pairs Dot(Pairs sum, Weights w, const int8_t* q) {
      return _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(sum, w.even, Broadcast(q)), w.odd, Broadcast(q + 4));
    }
  };

 private:
  // Lane i: all lanes of a[i] joined. The lanes are joined across vectors, twice: four vectors become one vector that holds lanes of all
  // four.
  template <typename Join>
  TESSERA_INLINE Int Joined(const Int (&a)[16], Join join) {
    __m512i four[4];  // Each 128 bits of four[i]: a part of each of a[4 i] to a[4 i + 3].
    for (int i = 0; i < 4; ++i) {
      const Int* v = a + 4 * i;
      const __m512i first = join(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
      const __m512i second = join(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
      four[i] = join(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
    }
    const __m512i low = join(_mm512_shuffle_i32x4(four[0], four[1], 0x88), _mm512_shuffle_i32x4(four[0], four[1], 0xdd));
    const __m512i high = join(_mm512_shuffle_i32x4(four[2], four[3], 0x88), _mm512_shuffle_i32x4(four[2], four[3], 0xdd));
    return join(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xdd));
  }
  TESSERA_INLINE __m512i Broadcast(const int8_t* quad) {
    int32_t bits;
    std::memcpy(&bits, quad, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  TESSERA_INLINE __mmask16 Mask(int n) { return static_cast<__mmask16>((1u << n) - 1); }
};

}  // namespace tessera

#undef TESSERA_INLINE
