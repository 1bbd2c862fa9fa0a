// Sixteen lanes in plain C++: the definition that every vector version must match to the bit.
//
//   using L = LanesPortable;
//   L::Float sum = L::Fma(L::Load(a), L::Load(b), L::Zero());
//   float total = L::Sum(sum);                       // a fixed tree: lane i with i+8, then +4, +2, +1
//
// A kernel is a template over LanesPortable or a sister (LanesAvx2, LanesAvx512, LanesNeon), written once and compiled for each. Sixteen is
// part of the numeric contract. Reductions keep 16 partial sums (index mod 16) and join the sums by one tree, for any width of the CPU's
// registers. Everything here is exact or rounded once, so all versions agree (tests/tensor/lanes_test.cc).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tessera/base/cpu_features.h"
#include "tessera/base/half.h"

// Marks functions of many operations. Such functions are called, not inlined: a kernel with inlined copies takes three times as long to
// compile.
#define TESSERA_CALLED static __attribute__((noinline))

namespace tessera {

struct LanesPortable {
  static constexpr KernelPath kPath = KernelPath::kPortable;
  struct Float { float v[16]; };
  struct Int { int32_t v[16]; };
  struct Bytes { uint8_t v[64]; };  // Sixteen quads of unsigned bytes.
  // Attention (npu/host/kernels/attention_kernel.h): number of sixteen-lane sums that stay in registers.
  static constexpr int kSums = 4;
  static constexpr int kRowsOfSumsInRegisters = 0;   // Passes of more rows keep their sums in memory (quant/kernels/panel_kernel.h).

  template <typename F>
  static Float Each(F f) { Float r; for (int i = 0; i < 16; ++i) r.v[i] = f(i); return r; }

  static Float Zero() { return Set(0.0f); }
  static Float Set(float x) { return Each([&](int) { return x; }); }
  static Float Load(const float* p) { Float r; std::memcpy(r.v, p, sizeof r.v); return r; }
  static Float LoadPartial(const float* p, int n) { return Each([&](int i) { return i < n ? p[i] : 0.0f; }); }
  TESSERA_CALLED Float LoadHalf(const uint16_t* p) { return Each([&](int i) { return HalfToFloat(p[i]); }); }
  static Float LoadBFloat16(const uint16_t* p) { return Each([&](int i) { return BFloat16ToFloat(p[i]); }); }
  // Four bits of each byte, from kShift (0 or 4).
  template <int kShift>
  static Float LoadNibbles(const uint8_t* p) { return Each([&](int i) { return static_cast<float>(p[i] >> kShift & 15); }); }
  static Float LoadSigned8(const int8_t* p) { return Each([&](int i) { return static_cast<float>(p[i]); }); }
  static void Store(float* p, Float x) { std::memcpy(p, x.v, sizeof x.v); }
  static void StorePartial(float* p, Float x, int n) { std::memcpy(p, x.v, n * sizeof(float)); }
  static void StoreHalf(uint16_t* p, Float x) { for (int i = 0; i < 16; ++i) p[i] = FloatToHalf(x.v[i]); }
  // Rounds to the nearest FP16 numbers: the result of StoreHalf followed by LoadHalf.
  static Float RoundToHalf(Float a) { return Each([&](int i) { return HalfToFloat(FloatToHalf(a.v[i])); }); }

  static Float Add(Float a, Float b) { return Each([&](int i) { return a.v[i] + b.v[i]; }); }
  static Float Sub(Float a, Float b) { return Each([&](int i) { return a.v[i] - b.v[i]; }); }
  static Float Mul(Float a, Float b) { return Each([&](int i) { return a.v[i] * b.v[i]; }); }
  static Float Div(Float a, Float b) { return Each([&](int i) { return a.v[i] / b.v[i]; }); }
  static Float Fma(Float a, Float b, Float c) { return Each([&](int i) { return std::fmaf(a.v[i], b.v[i], c.v[i]); }); }
  // a if a > b, else b, like x86's max, so a NaN in `a` gives b.
  static Float Max(Float a, Float b) { return Each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
  static Float Min(Float a, Float b) { return Each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; }); }
  static Float Negate(Float a) { return Each([&](int i) { return -a.v[i]; }); }
  // `result` if limit <= x, else 0.
  static Float ZeroBelow(Float x, Float limit, Float result) {
    return Each([&](int i) { return limit.v[i] <= x.v[i] ? result.v[i] : 0.0f; });
  }
  static Float Round(Float a) { return Each([&](int i) { return std::nearbyintf(a.v[i]); }); }  // To nearest even.
  // x * 2^n for whole n in [-126, 127].
  static Float ScaleByPowerOfTwo(Float x, Float n) {
    return Each([&](int i) {
      const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(n.v[i]) + 127) << 23;
      float power;
      std::memcpy(&power, &bits, sizeof power);
      return x.v[i] * power;
    });
  }
  static float Sum(Float a) {
    for (int half = 8; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) a.v[i] = a.v[i] + a.v[i + half];
    }
    return a.v[0];
  }
  static float Largest(Float a) {
    for (int half = 8; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
    }
    return a.v[0];
  }
  // Returns the larger of the bit pattern of |a| and the running `bits`, as integers: infinities and NaN are the largest.
  static Int MaxMagnitudeBits(Int bits, Float a) {
    for (int i = 0; i < 16; ++i) {
      int32_t magnitude;
      std::memcpy(&magnitude, &a.v[i], 4);
      magnitude &= 0x7fffffff;
      if (magnitude > bits.v[i]) bits.v[i] = magnitude;
    }
    return bits;
  }
  static int32_t LargestInt(Int a) {
    int32_t largest = a.v[0];
    for (int i = 1; i < 16; ++i) largest = a.v[i] > largest ? a.v[i] : largest;
    return largest;
  }
  static Int RoundToInt(Float a) { Int r; for (int i = 0; i < 16; ++i) r.v[i] = static_cast<int32_t>(std::nearbyintf(a.v[i])); return r; }
  static void StoreSigned8(int8_t* p, Int a) { for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.v[i]); }
  static int32_t SumInt(Int a) { int32_t sum = 0; for (int32_t x : a.v) sum += x; return sum; }
  // Lane i: the sum, or the largest lane, of a[i]. Sixteen together are cheaper than one by one.
  static Int SumOfEach(const Int (&a)[16]) { Int r; for (int i = 0; i < 16; ++i) r.v[i] = SumInt(a[i]); return r; }
  static Int LargestOfEach(const Int (&a)[16]) { Int r; for (int i = 0; i < 16; ++i) r.v[i] = LargestInt(a[i]); return r; }
  // Lanes 8 to 15, then 0 to 7.
  static Int SwapHalves(Int a) { Int r; for (int i = 0; i < 16; ++i) r.v[i] = a.v[(i + 8) % 16]; return r; }
  static Int MulInt(Int a, int32_t b) { for (int32_t& lane : a.v) lane *= b; return a; }
  static void StoreInt(int32_t* p, Int a) { std::memcpy(p, a.v, sizeof a.v); }
  // Load sixteen numbers of 32 bits, signed numbers of 16 bits, or unsigned numbers of 8 bits, at any address.
  static Int LoadInt(const void* p) { Int r; std::memcpy(r.v, p, sizeof r.v); return r; }
  static Int LoadWords(const void* p) {
    int16_t words[16];
    std::memcpy(words, p, sizeof words);
    Int r;
    for (int i = 0; i < 16; ++i) r.v[i] = words[i];
    return r;
  }
  static Int LoadUnsigned8(const void* p) {
    uint8_t bytes[16];
    std::memcpy(bytes, p, sizeof bytes);
    Int r;
    for (int i = 0; i < 16; ++i) r.v[i] = bytes[i];
    return r;
  }
  // Shift by 0 to 31 bits. Zeros move in; in ShiftRightSigned, copies of the sign.
  template <int kShift>
  static Int ShiftLeft(Int a) { for (int32_t& x : a.v) x = static_cast<int32_t>(static_cast<uint32_t>(x) << kShift); return a; }
  template <int kShift>
  static Int ShiftRight(Int a) { for (int32_t& x : a.v) x = static_cast<int32_t>(static_cast<uint32_t>(x) >> kShift); return a; }
  template <int kShift>
  static Int ShiftRightSigned(Int a) { for (int32_t& x : a.v) x >>= kShift; return a; }
  // Lane i: table[the low four bits of lane i].
  static Float LookUp(Float table, Int codes) { return Each([&](int i) { return table.v[codes.v[i] & 15]; }); }
  // The low sixteen bits of each lane, read as FP16.
  static Float LowHalves(Int a) { return Each([&](int i) { return HalfToFloat(static_cast<uint16_t>(a.v[i])); }); }
  // to[k][i] = a[i][k] for eight rows and columns. REQUIRES: both arrays are on 64-byte boundaries.
  static void Transpose(const int32_t (*a)[8], int32_t (*to)[8]) {
    for (int i = 0; i < 8; ++i) {
      for (int k = 0; k < 8; ++k) to[k][i] = a[i][k];
    }
  }
  static Int AddInt(Int a, Int b) { for (int i = 0; i < 16; ++i) a.v[i] += b.v[i]; return a; }

  static Int SetInt(int32_t x) { Int r; for (int32_t& lane : r.v) lane = x; return r; }
  static Float AsFloat(Int a) { return Each([&](int i) { return std::bit_cast<float>(a.v[i]); }); }
  static Float ToFloat(Int a) { return Each([&](int i) { return static_cast<float>(a.v[i]); }); }

  static void StoreBytes(std::byte* p, Bytes a) { std::memcpy(p, a.v, 64); }
  static Bytes LoadBytes(const std::byte* p) { Bytes r; std::memcpy(r.v, p, 64); return r; }
  // (a >> kShift) & mask, left in place or moved up to bit kTo.
  template <int kShift, int kMask, int kTo>
  TESSERA_CALLED Bytes Field(const Bytes& a) {
    Bytes r;
    for (int i = 0; i < 64; ++i) r.v[i] = static_cast<uint8_t>(((a.v[i] >> kShift) & kMask) << kTo);
    return r;
  }
  // table[a] for a table of sixteen bytes on a 16-byte boundary. REQUIRES: a < 16.
  TESSERA_CALLED Bytes Lookup(const uint8_t* table, const Bytes& a) {
    Bytes r;
    for (int i = 0; i < 64; ++i) r.v[i] = table[a.v[i]];
    return r;
  }
  TESSERA_CALLED Bytes Or(const Bytes& a, const Bytes& b) { Bytes r; for (int i = 0; i < 64; ++i) r.v[i] = a.v[i] | b.v[i]; return r; }

  // Sums of products with activations of 8 bits (Products16: of 16 bits), exact for any weights. From BeginPairs to EndPairs each lane adds
  // w[4 lane + i] * q[i], i = 0..3, from at most kQuadsOfPairs quads. A weight of kBits bits may be multiplied in kPlanes parts, one after
  // the other, and may be reduced by kTakenOff before. A kernel starts its sums higher to compensate the reduction.
  template <typename Value>
  struct Products {
    static constexpr int kRowsAtOnce = 2;     // Rows that share a load of weights. Few here, so that there is little to compile.
    static constexpr int kTilesTogether = 2;  // Tiles whose sums are computed together, from one load of the activations.
    template <int kBits>
    static constexpr int kPlanes = 1;
    template <int kBits>
    static constexpr int kTakenOff = 0;
    template <int kBits>
    static constexpr int kQuadsOfPairs = 8;
    using Weights = Bytes;
    using Pairs = Int;

    // Stores sixteen values, four quads, in the order of Dot's reads.
    static void StoreValues(int8_t* p, Int a) {
      Value values[16];
      for (int i = 0; i < 16; ++i) values[i] = static_cast<Value>(a.v[i]);
      std::memcpy(p, values, sizeof values);
    }
    template <int kBits, int kPlane>
    static Weights TakePlane(Bytes w) { return w; }
    static Pairs BeginPairs(Int sum) { return sum; }
    TESSERA_CALLED Pairs Dot(Pairs sum, const Weights& w, const int8_t* quad) {
      Value q[4];
      std::memcpy(q, quad, sizeof q);
      for (int lane = 0; lane < 16; ++lane) {
        for (int i = 0; i < 4; ++i) sum.v[lane] += w.v[4 * lane + i] * q[i];
      }
      return sum;
    }
    template <int kPlane>
    static Int EndPairs(Int, Pairs sum) { return sum; }
  };
  using Products8 = Products<int8_t>;
  using Products16 = Products<int16_t>;
};

}  // namespace tessera

#undef TESSERA_CALLED
