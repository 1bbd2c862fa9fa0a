// Sixteen lanes in four NEON registers, with the bits of lanes_portable.h. Include only from *_neon.cc files.
//
// Needs ARMv8.2-A with dot products of bytes (FEAT_DotProd). The code has only run under an emulator: no time on any processor has been
// measured. Choices for speed rest on counts of the instructions that g++ 12 generates (scripts/measure/count_instructions.py).
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/base/cpu_features.h"

#define TESSERA_INLINE static inline __attribute__((always_inline))

namespace tessera {

struct LanesNeon {
  static constexpr KernelPath kPath = KernelPath::kNeon;
  struct Float { float32x4_t v[4]; };
  struct Int { int32x4_t v[4]; };
  struct Bytes { uint8x16_t v[4]; };
  // Attention (npu/host/kernels/attention_kernel.h): number of sixteen-lane sums that stay in registers. Six sums are 24 registers; a load
  // of keys or values takes four.
  static constexpr int kSums = 6;
  static constexpr int kRowsOfSumsInRegisters = 8;

  TESSERA_INLINE Float Zero() { return Set(0.0f); }
  TESSERA_INLINE Float Set(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x), vdupq_n_f32(x)}; }
  TESSERA_INLINE Float Load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}; }
  TESSERA_INLINE Float LoadPartial(const float* p, int n) {
    float lanes[16] = {};
    std::memcpy(lanes, p, n * sizeof(float));
    return Load(lanes);
  }
  TESSERA_INLINE Float LoadHalf(const uint16_t* p) {
    const float16x8_t low = vreinterpretq_f16_u16(vld1q_u16(p)), high = vreinterpretq_f16_u16(vld1q_u16(p + 8));
    return {vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low), vcvt_f32_f16(vget_low_f16(high)), vcvt_high_f32_f16(high)};
  }
  TESSERA_INLINE Float LoadBFloat16(const uint16_t* p) {
    return Each<Float>([&](int i) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)); });
  }
  template <int kShift>
  TESSERA_INLINE Float LoadNibbles(const uint8_t* p) {
    return FromBytes(vreinterpretq_s8_u8(FieldOf<kShift, 15, 0>(vld1q_u8(p))));
  }
  TESSERA_INLINE Float LoadSigned8(const int8_t* p) { return FromBytes(vld1q_s8(p)); }
  TESSERA_INLINE void Store(float* p, Float x) {
    vst1q_f32(p, x.v[0]);
    vst1q_f32(p + 4, x.v[1]);
    vst1q_f32(p + 8, x.v[2]);
    vst1q_f32(p + 12, x.v[3]);
  }
  TESSERA_INLINE void StorePartial(float* p, Float x, int n) {
    float lanes[16];
    Store(lanes, x);
    std::memcpy(p, lanes, n * sizeof(float));
  }
  TESSERA_INLINE void StoreHalf(uint16_t* p, Float x) {
    vst1q_u16(p, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.v[0]), x.v[1])));
    vst1q_u16(p + 8, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.v[2]), x.v[3])));
  }
  TESSERA_INLINE Float RoundToHalf(Float a) { return Each<Float>([&](int i) { return vcvt_f32_f16(vcvt_f16_f32(a.v[i])); }); }

  TESSERA_INLINE Float Add(Float a, Float b) { return Each<Float>([&](int i) { return vaddq_f32(a.v[i], b.v[i]); }); }
  TESSERA_INLINE Float Sub(Float a, Float b) { return Each<Float>([&](int i) { return vsubq_f32(a.v[i], b.v[i]); }); }
  TESSERA_INLINE Float Mul(Float a, Float b) { return Each<Float>([&](int i) { return vmulq_f32(a.v[i], b.v[i]); }); }
  TESSERA_INLINE Float Div(Float a, Float b) { return Each<Float>([&](int i) { return vdivq_f32(a.v[i], b.v[i]); }); }
  TESSERA_INLINE Float Fma(Float a, Float b, Float c) {
    return Each<Float>([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
  }
  // Max and Min compare and select, since fmax and fmin treat NaN and -0 differently from the definition.
  TESSERA_INLINE Float Max(Float a, Float b) { return Each<Float>([&](int i) { return Larger(a.v[i], b.v[i]); }); }
  TESSERA_INLINE Float Min(Float a, Float b) {
    return Each<Float>([&](int i) { return vbslq_f32(vcltq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]); });
  }
  TESSERA_INLINE Float Negate(Float a) { return Each<Float>([&](int i) { return vnegq_f32(a.v[i]); }); }
  TESSERA_INLINE Float ZeroBelow(Float x, Float limit, Float result) {
    return Each<Float>([&](int i) {
      return vreinterpretq_f32_u32(vandq_u32(vcleq_f32(limit.v[i], x.v[i]), vreinterpretq_u32_f32(result.v[i])));
    });
  }
  TESSERA_INLINE Float Round(Float a) { return Each<Float>([&](int i) { return vrndnq_f32(a.v[i]); }); }
  TESSERA_INLINE Float ScaleByPowerOfTwo(Float x, Float n) {
    return Each<Float>([&](int i) {
      const int32x4_t power = vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n.v[i]), vdupq_n_s32(127)), 23);
      return vmulq_f32(x.v[i], vreinterpretq_f32_s32(power));
    });
  }
  TESSERA_INLINE float Sum(Float a) {
    const float32x4_t four = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
  }
  TESSERA_INLINE float Largest(Float a) {
    const float32x4_t four = Larger(Larger(a.v[0], a.v[2]), Larger(a.v[1], a.v[3]));
    const float32x4_t two = Larger(four, vextq_f32(four, four, 2));
    return vgetq_lane_f32(Larger(two, vextq_f32(two, two, 1)), 0);
  }
  TESSERA_INLINE Int MaxMagnitudeBits(Int bits, Float a) {
    return Each<Int>([&](int i) { return vmaxq_s32(bits.v[i], vreinterpretq_s32_f32(vabsq_f32(a.v[i]))); });
  }
  TESSERA_INLINE int32_t LargestInt(Int a) { return vmaxvq_s32(vmaxq_s32(vmaxq_s32(a.v[0], a.v[1]), vmaxq_s32(a.v[2], a.v[3]))); }
  TESSERA_INLINE Int RoundToInt(Float a) { return Each<Int>([&](int i) { return vcvtnq_s32_f32(a.v[i]); }); }
  TESSERA_INLINE void StoreSigned8(int8_t* p, Int a) {
    const int16x8_t low = vmovn_high_s32(vmovn_s32(a.v[0]), a.v[1]), high = vmovn_high_s32(vmovn_s32(a.v[2]), a.v[3]);
    vst1q_s8(p, vmovn_high_s16(vmovn_s16(low), high));
  }
  TESSERA_INLINE int32_t SumInt(Int a) { return vaddvq_s32(vaddq_s32(vaddq_s32(a.v[0], a.v[1]), vaddq_s32(a.v[2], a.v[3]))); }
  TESSERA_INLINE Int SumOfEach(const Int (&a)[16]) {
    return Joined(a, [](int32x4_t x, int32x4_t y) __attribute__((always_inline)) { return vpaddq_s32(x, y); });
  }
  TESSERA_INLINE Int LargestOfEach(const Int (&a)[16]) {
    return Joined(a, [](int32x4_t x, int32x4_t y) __attribute__((always_inline)) { return vpmaxq_s32(x, y); });
  }
  TESSERA_INLINE Int SwapHalves(Int a) { return {a.v[2], a.v[3], a.v[0], a.v[1]}; }
  TESSERA_INLINE Int MulInt(Int a, int32_t b) { return Each<Int>([&](int i) { return vmulq_n_s32(a.v[i], b); }); }
  TESSERA_INLINE void StoreInt(int32_t* p, Int a) {
    for (int i = 0; i < 4; ++i) vst1q_s32(p + 4 * i, a.v[i]);
  }
  TESSERA_INLINE Int LoadInt(const void* p) {
    return Each<Int>([&](int i) { return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p) + 16 * i)); });
  }
  TESSERA_INLINE Int LoadWords(const void* p) {
    const uint8_t* const bytes = static_cast<const uint8_t*>(p);
    const int16x8_t low = vreinterpretq_s16_u8(vld1q_u8(bytes)), high = vreinterpretq_s16_u8(vld1q_u8(bytes + 16));
    return {vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)};
  }
  TESSERA_INLINE Int LoadUnsigned8(const void* p) {
    const uint8x16_t bytes = vld1q_u8(static_cast<const uint8_t*>(p));
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
    return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))), vreinterpretq_s32_u32(vmovl_high_u16(low)),
            vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))), vreinterpretq_s32_u32(vmovl_high_u16(high))};
  }
  template <int kShift>
  TESSERA_INLINE Int ShiftLeft(Int a) { return Each<Int>([&](int i) { return vshlq_n_s32(a.v[i], kShift); }); }
  template <int kShift>
  TESSERA_INLINE Int ShiftRight(Int a) {
    if constexpr (kShift == 0) return a;  // An instruction shifts right by one bit or more.
    else return Each<Int>([&](int i) { return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a.v[i]), kShift)); });
  }
  template <int kShift>
  TESSERA_INLINE Int ShiftRightSigned(Int a) {
    if constexpr (kShift == 0) return a;
    else return Each<Int>([&](int i) { return vshrq_n_s32(a.v[i], kShift); });
  }
  // The instruction looks up bytes: a number is the bytes at 4 code + 0, 1, 2 and 3.
  TESSERA_INLINE Float LookUp(Float table, Int codes) {
    const uint8x16x4_t bytes = {{vreinterpretq_u8_f32(table.v[0]), vreinterpretq_u8_f32(table.v[1]), vreinterpretq_u8_f32(table.v[2]),
                                 vreinterpretq_u8_f32(table.v[3])}};
    return Each<Float>([&](int i) {
      const uint32x4_t code = vandq_u32(vreinterpretq_u32_s32(codes.v[i]), vdupq_n_u32(15));
      const uint32x4_t places = vmlaq_n_u32(vdupq_n_u32(0x03020100), code, 0x04040404);
      return vreinterpretq_f32_u8(vqtbl4q_u8(bytes, vreinterpretq_u8_u32(places)));
    });
  }
  TESSERA_INLINE Float LowHalves(Int a) {
    return Each<Float>([&](int i) { return vcvt_f32_f16(vreinterpret_f16_s16(vmovn_s32(a.v[i]))); });
  }
  TESSERA_INLINE void Transpose(const int32_t (*a)[8], int32_t (*to)[8]) {
    for (int i = 0; i < 8; ++i) {
      for (int k = 0; k < 8; ++k) to[k][i] = a[i][k];
    }
  }
  TESSERA_INLINE Int AddInt(Int a, Int b) { return Each<Int>([&](int i) { return vaddq_s32(a.v[i], b.v[i]); }); }

  TESSERA_INLINE Int SetInt(int32_t x) { return {vdupq_n_s32(x), vdupq_n_s32(x), vdupq_n_s32(x), vdupq_n_s32(x)}; }
  TESSERA_INLINE Float AsFloat(Int a) { return Each<Float>([&](int i) { return vreinterpretq_f32_s32(a.v[i]); }); }
  TESSERA_INLINE Float ToFloat(Int a) { return Each<Float>([&](int i) { return vcvtq_f32_s32(a.v[i]); }); }

  TESSERA_INLINE void StoreBytes(std::byte* p, Bytes a) {
    for (int i = 0; i < 4; ++i) vst1q_u8(reinterpret_cast<uint8_t*>(p) + 16 * i, a.v[i]);
  }
  // The empty statement keeps loads at their place. Otherwise g++ loads and unpacks the weights of a group before the first multiplication,
  // and spills weights. The result is 1052 instructions instead of 734 for four rows of Q4_0.
  TESSERA_INLINE Bytes LoadBytes(const std::byte* p) {
    asm volatile("" : "+r"(p));
    return Each<Bytes>([&](int i) { return vld1q_u8(reinterpret_cast<const uint8_t*>(p) + 16 * i); });
  }
  template <int kShift, int kMask, int kTo>
  TESSERA_INLINE Bytes Field(Bytes a) { return Each<Bytes>([&](int i) { return FieldOf<kShift, kMask, kTo>(a.v[i]); }); }
  TESSERA_INLINE Bytes Lookup(const uint8_t* table, Bytes a) {
    const uint8x16_t codes = vld1q_u8(table);
    return Each<Bytes>([&](int i) { return vqtbl1q_u8(codes, a.v[i]); });
  }
  TESSERA_INLINE Bytes Or(Bytes a, Bytes b) { return Each<Bytes>([&](int i) { return vorrq_u8(a.v[i], b.v[i]); }); }

  // SDOT multiplies signed bytes by signed bytes and adds up in 32 bits. A weight of up to 7 bits has the same value as a signed byte. A
  // weight of 8 bits, with the top bit flipped, reads as the weight - 128.
  struct Products8 {
    // One tile of four rows fills 16 registers with integer sums, and the other 16 hold weights and activations; float sums wait in
    // memory. Counted for Q4_0 and Q4_K: 4.0 and 5.2 instructions per SDOT with one row, 3.2 and 3.9 with two, 2.9 and 3.3 with four, 2.7
    // and 3.5 with six.
    static constexpr int kRowsAtOnce = 4, kTilesTogether = 1;
    template <int kBits>
    static constexpr int kPlanes = 1;
    template <int kBits>
    static constexpr int kTakenOff = kBits == 8 ? 128 : 0;
    template <int kBits>
    static constexpr int kQuadsOfPairs = 8;
    using Weights = Bytes;
    using Pairs = Int;

    TESSERA_INLINE void StoreValues(int8_t* p, Int a) { StoreSigned8(p, a); }
    template <int kBits, int kPlane>
    TESSERA_INLINE Weights TakePlane(Bytes w) {
      if constexpr (kTakenOff<kBits> == 0) return w;
      return Each<Bytes>([&](int i) { return veorq_u8(w.v[i], vdupq_n_u8(0x80)); });
    }
    TESSERA_INLINE Pairs BeginPairs(Int sum) { return sum; }
    TESSERA_INLINE Pairs Dot(Pairs sum, Weights w, const int8_t* q) {
      int32_t quad;
      std::memcpy(&quad, q, sizeof quad);
      const int8x16_t activation = vreinterpretq_s8_s32(vdupq_n_s32(quad));
      return Each<Int>([&](int i) { return vdotq_s32(sum.v[i], vreinterpretq_s8_u8(w.v[i]), activation); });
    }
    template <int kPlane>
    TESSERA_INLINE Int EndPairs(Int, Pairs sum) { return sum; }
  };

  // A value of 16 bits is 256 times a signed byte plus another signed byte. Each byte has separate sums, so two rows fill 16 registers.
  struct Products16 : Products8 {
    static constexpr int kRowsAtOnce = 2;
    struct Pairs { Int high, low; };

    // Four high bytes and four low bytes for each quad.
    TESSERA_INLINE void StoreValues(int8_t* p, Int a) {
      int8_t high[16], low[16];
      StoreSigned8(high, Each<Int>([&](int i) { return vshrq_n_s32(vaddq_s32(a.v[i], vdupq_n_s32(128)), 8); }));
      StoreSigned8(low, a);
      vst2q_s32(reinterpret_cast<int32_t*>(p), {vreinterpretq_s32_s8(vld1q_s8(high)), vreinterpretq_s32_s8(vld1q_s8(low))});
    }
    TESSERA_INLINE Pairs BeginPairs(Int sum) { return {SetInt(0), sum}; }
    TESSERA_INLINE Pairs Dot(Pairs sum, Weights w, const int8_t* q) {
      return {Products8::Dot(sum.high, w, q), Products8::Dot(sum.low, w, q + 4)};
    }
    template <int kPlane>
    TESSERA_INLINE Int EndPairs(Int, Pairs sum) {
      return Each<Int>([&](int i) { return vaddq_s32(sum.low.v[i], vshlq_n_s32(sum.high.v[i], 8)); });
    }
  };

 private:
  // Lane i: all lanes of a[i] joined, two and two.
  template <typename Join>
  TESSERA_INLINE Int Joined(const Int (&a)[16], Join join) {
    return Each<Int>([&](int i) {
      int32x4_t of_each[4];
      for (int k = 0; k < 4; ++k) {
        const Int& x = a[4 * i + k];
        of_each[k] = join(join(x.v[0], x.v[1]), join(x.v[2], x.v[3]));
      }
      return join(join(of_each[0], of_each[1]), join(of_each[2], of_each[3]));
    });
  }
  template <typename Lanes, typename F>
  TESSERA_INLINE Lanes Each(F f) { return {f(0), f(1), f(2), f(3)}; }
  TESSERA_INLINE float32x4_t Larger(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  TESSERA_INLINE Float FromBytes(int8x16_t a) {
    const int16x8_t low = vmovl_s8(vget_low_s8(a)), high = vmovl_high_s8(a);
    return ToFloat({vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low), vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)});
  }
  // Shifts of bytes bring in zeros, so a field that ends at its byte's end needs no mask.
  template <int kShift, int kMask, int kTo>
  TESSERA_INLINE uint8x16_t FieldOf(uint8x16_t a) {
    constexpr int kRight = kShift > kTo ? kShift - kTo : 0, kLeft = kShift < kTo ? kTo - kShift : 0;
    constexpr int kField = kMask << kTo, kLeftOver = (0xff >> kRight << kLeft) & 0xff;
    if constexpr (kRight > 0) a = vshrq_n_u8(a, kRight);
    if constexpr (kLeft > 0) a = vshlq_n_u8(a, kLeft);
    return kLeftOver == kField ? a : vandq_u8(a, vdupq_n_u8(kField));
  }
};

}  // namespace tessera

#undef TESSERA_INLINE
