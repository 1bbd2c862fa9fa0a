// Sixteen lanes in two AVX2 registers, with the bits of lanes_portable.h. Include only from *_avx2.cc files.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/base/cpu_features.h"

#define TESSERA_INLINE static inline __attribute__((always_inline))

namespace tessera {

struct LanesAvx2 {
  static constexpr KernelPath kPath = KernelPath::kAvx2;
  struct Float { __m256 low, high; };
  struct Int { __m256i low, high; };
  struct Bytes { __m256i low, high; };
  // Attention (npu/host/kernels/attention_kernel.h): number of sixteen-lane sums that stay in registers.
  static constexpr int kSums = 6;
  static constexpr int kRowsOfSumsInRegisters = 8;

  TESSERA_INLINE Float Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  TESSERA_INLINE Float Set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  TESSERA_INLINE Float Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  TESSERA_INLINE Float LoadPartial(const float* p, int n) {
    return {_mm256_maskload_ps(p, Mask(n)), n > 8 ? _mm256_maskload_ps(p + 8, Mask(n - 8)) : _mm256_setzero_ps()};
  }
  TESSERA_INLINE Float LoadHalf(const uint16_t* p) { return {_mm256_cvtph_ps(Load128(p)), _mm256_cvtph_ps(Load128(p + 8))}; }
  TESSERA_INLINE Float LoadBFloat16(const uint16_t* p) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p)), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p + 8)), 16))};
  }
  template <int kShift>
  TESSERA_INLINE Float LoadNibbles(const uint8_t* p) {
    const __m128i bytes = _mm_and_si128(_mm_srli_epi16(Load128(p), kShift), _mm_set1_epi8(15));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  TESSERA_INLINE Float LoadSigned8(const int8_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadu_si64(p))), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadu_si64(p + 8)))};
  }
  TESSERA_INLINE void Store(float* p, Float x) { _mm256_storeu_ps(p, x.low); _mm256_storeu_ps(p + 8, x.high); }
  TESSERA_INLINE void StorePartial(float* p, Float x, int n) {
    _mm256_maskstore_ps(p, Mask(n), x.low);
    if (n > 8) _mm256_maskstore_ps(p + 8, Mask(n - 8), x.high);
  }
  TESSERA_INLINE void StoreHalf(uint16_t* p, Float x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  TESSERA_INLINE Float RoundToHalf(Float a) {
    return {_mm256_cvtph_ps(_mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)),
            _mm256_cvtph_ps(_mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))};
  }

  TESSERA_INLINE Float Add(Float a, Float b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
  TESSERA_INLINE Float Sub(Float a, Float b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
  TESSERA_INLINE Float Mul(Float a, Float b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
  TESSERA_INLINE Float Div(Float a, Float b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
  TESSERA_INLINE Float Fma(Float a, Float b, Float c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  TESSERA_INLINE Float Max(Float a, Float b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
  TESSERA_INLINE Float Min(Float a, Float b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
  TESSERA_INLINE Float Negate(Float a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
  }
  TESSERA_INLINE Float ZeroBelow(Float x, Float limit, Float result) {
    return {_mm256_and_ps(result.low, _mm256_cmp_ps(limit.low, x.low, _CMP_LE_OQ)),
            _mm256_and_ps(result.high, _mm256_cmp_ps(limit.high, x.high, _CMP_LE_OQ))};
  }
  TESSERA_INLINE Float Round(Float a) {
    return {_mm256_round_ps(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
            _mm256_round_ps(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  TESSERA_INLINE Float ScaleByPowerOfTwo(Float x, Float n) { return {Scale(x.low, n.low), Scale(x.high, n.high)}; }
  TESSERA_INLINE float Sum(Float a) {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  TESSERA_INLINE float Largest(Float a) {
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  TESSERA_INLINE Int MaxMagnitudeBits(Int bits, Float a) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    return {_mm256_max_epi32(bits.low, _mm256_and_si256(_mm256_castps_si256(a.low), magnitude)),
            _mm256_max_epi32(bits.high, _mm256_and_si256(_mm256_castps_si256(a.high), magnitude))};
  }
  TESSERA_INLINE int32_t LargestInt(Int a) {
    const __m256i eight = _mm256_max_epi32(a.low, a.high);
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
  }
  TESSERA_INLINE Int RoundToInt(Float a) { return {_mm256_cvtps_epi32(a.low), _mm256_cvtps_epi32(a.high)}; }
  TESSERA_INLINE void StoreSigned8(int8_t* p, Int a) {
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xd8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }
  TESSERA_INLINE int32_t SumInt(Int a) {
    const __m256i eight = _mm256_add_epi32(a.low, a.high);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
  }
  TESSERA_INLINE Int SumOfEach(const Int (&a)[16]) {
    return Joined(a, [](__m256i x, __m256i y) __attribute__((always_inline)) { return _mm256_add_epi32(x, y); });
  }
  TESSERA_INLINE Int LargestOfEach(const Int (&a)[16]) {
    return Joined(a, [](__m256i x, __m256i y) __attribute__((always_inline)) { return _mm256_max_epi32(x, y); });
  }
  TESSERA_INLINE Int SwapHalves(Int a) { return {a.high, a.low}; }
  TESSERA_INLINE Int MulInt(Int a, int32_t b) {
    return {_mm256_mullo_epi32(a.low, _mm256_set1_epi32(b)), _mm256_mullo_epi32(a.high, _mm256_set1_epi32(b))};
  }
  TESSERA_INLINE void StoreInt(int32_t* p, Int a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.high);
  }
  TESSERA_INLINE Int LoadInt(const void* p) {
    const __m256i* const halves = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
  }
  TESSERA_INLINE Int LoadWords(const void* p) {
    const __m128i* const halves = static_cast<const __m128i*>(p);
    return {_mm256_cvtepi16_epi32(Load128(halves)), _mm256_cvtepi16_epi32(Load128(halves + 1))};
  }
  TESSERA_INLINE Int LoadUnsigned8(const void* p) {
    const __m128i bytes = Load128(p);
    return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
  }
  template <int kShift>
  TESSERA_INLINE Int ShiftLeft(Int a) { return {_mm256_slli_epi32(a.low, kShift), _mm256_slli_epi32(a.high, kShift)}; }
  template <int kShift>
  TESSERA_INLINE Int ShiftRight(Int a) { return {_mm256_srli_epi32(a.low, kShift), _mm256_srli_epi32(a.high, kShift)}; }
  template <int kShift>
  TESSERA_INLINE Int ShiftRightSigned(Int a) { return {_mm256_srai_epi32(a.low, kShift), _mm256_srai_epi32(a.high, kShift)}; }
  TESSERA_INLINE Float LookUp(Float table, Int codes) { return {LookUpEight(table, codes.low), LookUpEight(table, codes.high)}; }
  TESSERA_INLINE Float LowHalves(Int a) {
    const __m256i mask = _mm256_set1_epi32(0xffff);
    const __m256i words = _mm256_packus_epi32(_mm256_and_si256(a.low, mask), _mm256_and_si256(a.high, mask));
    const __m256i halves = _mm256_permute4x64_epi64(words, 0xd8);
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
  }
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
  TESSERA_INLINE Int AddInt(Int a, Int b) { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }

  TESSERA_INLINE Int SetInt(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  TESSERA_INLINE Float AsFloat(Int a) { return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)}; }
  TESSERA_INLINE Float ToFloat(Int a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }

  TESSERA_INLINE void StoreBytes(std::byte* p, Bytes a) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(p), a.low);
    _mm256_store_si256(reinterpret_cast<__m256i*>(p + 32), a.high);
  }
  TESSERA_INLINE Bytes LoadBytes(const std::byte* p) {
    return {_mm256_load_si256(reinterpret_cast<const __m256i*>(p)), _mm256_load_si256(reinterpret_cast<const __m256i*>(p + 32))};
  }
  template <int kShift, int kMask, int kTo>
  TESSERA_INLINE Bytes Field(Bytes a) {
    constexpr int kRight = kShift >= kTo ? kShift - kTo : 0, kLeft = kShift < kTo ? kTo - kShift : 0;
    if constexpr (kShift == kTo) return And(a, static_cast<char>(kMask << kTo));
    const Bytes moved = kShift >= kTo ? Bytes{_mm256_srli_epi16(a.low, kRight), _mm256_srli_epi16(a.high, kRight)}
                                      : Bytes{_mm256_slli_epi16(a.low, kLeft), _mm256_slli_epi16(a.high, kLeft)};
    return And(moved, static_cast<char>(kMask << kTo));
  }
  TESSERA_INLINE Bytes Lookup(const uint8_t* table, Bytes a) {
    const __m256i both = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
    return {_mm256_shuffle_epi8(both, a.low), _mm256_shuffle_epi8(both, a.high)};
  }
  TESSERA_INLINE Bytes Or(Bytes a, Bytes b) { return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)}; }

  // vpmaddubsw adds two products in 16 bits, saturating: at most 2 x 127 x the largest code. kQuadsOfPairs is the number of quads of such
  // pairs that fit into 16 bits, for any weights. Codes of 8 bits are multiplied as two codes of 4 bits. So all these quads are widened to
  // 32 bits (vpmaddwd, vpaddd) only once.
  struct Products8 {
    static constexpr int kRowsAtOnce = 6, kTilesTogether = 1;
    template <int kBits>
    static constexpr int kPlanes = kBits == 8 ? 2 : 1;
    template <int kBits>
    static constexpr int kTakenOff = 0;
    template <int kBits>
    static constexpr int kQuadsOfPairs = kBits == 8 ? 8 : 32767 / (2 * 127 * ((1 << kBits) - 1));
    using Weights = Bytes;
    struct Pairs { __m256i low, high; };

    TESSERA_INLINE void StoreValues(int8_t* p, Int a) { StoreSigned8(p, a); }
    template <int kBits, int kPlane>
    TESSERA_INLINE Weights TakePlane(Bytes w) {
      if constexpr (kPlanes<kBits> == 1) return w;
      return Field<4 * kPlane, 15, 0>(w);
    }
    TESSERA_INLINE Pairs BeginPairs(Int) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
    TESSERA_INLINE Pairs Dot(Pairs pairs, Weights w, const int8_t* q) {
      const __m256i activation = Broadcast(q);
      pairs = {_mm256_add_epi16(pairs.low, _mm256_maddubs_epi16(w.low, activation)),
               _mm256_add_epi16(pairs.high, _mm256_maddubs_epi16(w.high, activation))};
      asm("" : "+x"(pairs.low), "+x"(pairs.high));  // Otherwise GCC adds up in a tree, which needs more registers than exist.
      return pairs;
    }
    template <int kPlane>
    TESSERA_INLINE Int EndPairs(Int sum, Pairs pairs) {
      const __m256i scale = _mm256_set1_epi16(kPlane == 0 ? 1 : 16);
      return {_mm256_add_epi32(sum.low, _mm256_madd_epi16(pairs.low, scale)),
              _mm256_add_epi32(sum.high, _mm256_madd_epi16(pairs.high, scale))};
    }
  };

  // vpmaddwd adds two products of 16 bits in 32 bits, where nothing saturates. One vpmaddwd is for inputs 0 and 2 of a quad, one for inputs
  // 1 and 3. A mask and a shift widen weights to words of these inputs.
  struct Products16 {
    static constexpr int kRowsAtOnce = 5, kTilesTogether = 1;
    template <int kBits>
    static constexpr int kPlanes = 1;
    template <int kBits>
    static constexpr int kTakenOff = 0;
    template <int kBits>
    static constexpr int kQuadsOfPairs = 8;
    struct Weights { Bytes even, odd; };
    using Pairs = Int;

    TESSERA_INLINE void StoreValues(int8_t* p, Int a) {
      const __m256i low = _mm256_shuffle_epi32(a.low, 0xd8), high = _mm256_shuffle_epi32(a.high, 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8));
    }
    template <int kBits, int kPlane>
    TESSERA_INLINE Weights TakePlane(Bytes w) {
      const __m256i mask = _mm256_set1_epi16(0xff);
      return {{_mm256_and_si256(w.low, mask), _mm256_and_si256(w.high, mask)},
              {_mm256_srli_epi16(w.low, 8), _mm256_srli_epi16(w.high, 8)}};
    }
    TESSERA_INLINE Pairs BeginPairs(Int sum) { return sum; }
    TESSERA_INLINE Pairs Dot(Pairs sum, Weights w, const int8_t* q) {
      return AddProducts(AddProducts(sum, w.even, Broadcast(q)), w.odd, Broadcast(q + 4));
    }
    template <int kPlane>
    TESSERA_INLINE Int EndPairs(Int, Pairs sum) { return sum; }

   private:
    TESSERA_INLINE Int AddProducts(Int sum, Bytes w, __m256i activation) {
      sum = {_mm256_add_epi32(sum.low, _mm256_madd_epi16(w.low, activation)),
             _mm256_add_epi32(sum.high, _mm256_madd_epi16(w.high, activation))};
      asm("" : "+x"(sum.low), "+x"(sum.high));  // As above.
      return sum;
    }
  };

 private:
  // Lane i: all lanes of a[i] joined. The lanes are joined across vectors: four vectors become one vector that holds lanes of all four.
  template <typename Join>
  TESSERA_INLINE Int Joined(const Int (&a)[16], Join join) {
    return {JoinedEight(a, join), JoinedEight(a + 8, join)};
  }
  template <typename Join>
  TESSERA_INLINE __m256i JoinedEight(const Int* a, Join join) {
    __m256i four[2];  // Each 128 bits of four[i]: half of the lanes of each of a[4 i] to a[4 i + 3].
    for (int i = 0; i < 2; ++i, a += 4) {
      __m256i v[4];
      for (int k = 0; k < 4; ++k) v[k] = join(a[k].low, a[k].high);
      const __m256i first = join(_mm256_unpacklo_epi32(v[0], v[1]), _mm256_unpackhi_epi32(v[0], v[1]));
      const __m256i second = join(_mm256_unpacklo_epi32(v[2], v[3]), _mm256_unpackhi_epi32(v[2], v[3]));
      four[i] = join(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
    }
    return join(_mm256_permute2x128_si256(four[0], four[1], 0x20), _mm256_permute2x128_si256(four[0], four[1], 0x31));
  }
  // The instruction looks up among eight numbers, by the low three bits of a code. The fourth bit, moved to the sign, chooses between two
  // lookups.
  TESSERA_INLINE __m256 LookUpEight(Float table, __m256i codes) {
    const __m256 low = _mm256_permutevar8x32_ps(table.low, codes), high = _mm256_permutevar8x32_ps(table.high, codes);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));
  }
  TESSERA_INLINE __m128i Load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  TESSERA_INLINE __m256i Broadcast(const int8_t* quad) {
    int32_t bits;
    std::memcpy(&bits, quad, sizeof bits);
    return _mm256_set1_epi32(bits);
  }
  TESSERA_INLINE __m256i Mask(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  TESSERA_INLINE __m256 Scale(__m256 x, __m256 n) {
    return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23)));
  }
  TESSERA_INLINE Bytes And(Bytes a, char mask) {
    return {_mm256_and_si256(a.low, _mm256_set1_epi8(mask)), _mm256_and_si256(a.high, _mm256_set1_epi8(mask))};
  }
};

}  // namespace tessera

#undef TESSERA_INLINE
