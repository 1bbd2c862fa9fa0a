// Runs every operation of a lanes type (tensor/kernels/lanes_*.h) on one input and returns the bits, so that a test compiled for any CPU
// can compare instruction sets.
//
//   LanesResults results;
//   ProbeLanesPortable(input, results);          // the others only on a CPU that has the instructions
//
// One file per instruction set holds the instantiation. This header has only templates over the lanes and plain data: the linker could keep
// an ordinary inline function compiled for AVX-512 for all callers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tessera/tensor/kernels/elementwise.h"

namespace tessera {

struct LanesInput {
  alignas(64) float a[16];
  alignas(64) float b[16];
  alignas(64) float c[16];
  alignas(64) std::byte bytes[64];  // Also read as 16-bit and 8-bit numbers.
  alignas(64) std::byte more_bytes[64];
  int8_t quad[4];
  int count;                        // For partial loads and stores: 0 to 16.
};

struct LanesResult {
  const char* operation;
  bool is_float;
  uint32_t bits[16];
};

struct LanesResults {
  static constexpr int kMost = 112;
  LanesResult results[kMost];
  int count;
};

void ProbeLanesPortable(const LanesInput& input, LanesResults& results);
void ProbeLanesAvx2(const LanesInput& input, LanesResults& results);
void ProbeLanesAvx512(const LanesInput& input, LanesResults& results);
void ProbeLanesNeon(const LanesInput& input, LanesResults& results);

template <typename L>
class LanesProbe {
 public:
  using Float = typename L::Float;
  using Int = typename L::Int;
  using Bytes = typename L::Bytes;

  LanesProbe(const LanesInput& input, LanesResults& results) : input_(input), results_(results) { results_.count = 0; }

  void Run() {
    Loads();
    Stores();
    Arithmetic();
    Reductions();
    Integers();
    BitsOfIntegers();
    ByteFields();
    Dots();
    Functions();
  }

 private:
  void Loads() {
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(input_.bytes);
    Put("Zero", L::Zero());
    Put("Set", L::Set(input_.a[3]));
    Put("Load", L::Load(input_.a));
    Put("LoadPartial", L::LoadPartial(input_.a, input_.count));
    Put("LoadHalf", L::LoadHalf(halves));
    Put("LoadBFloat16", L::LoadBFloat16(halves));
    Put("LoadNibbles<0>", L::template LoadNibbles<0>(reinterpret_cast<const uint8_t*>(input_.bytes)));
    Put("LoadNibbles<4>", L::template LoadNibbles<4>(reinterpret_cast<const uint8_t*>(input_.bytes)));
    Put("LoadSigned8", L::LoadSigned8(reinterpret_cast<const int8_t*>(input_.bytes)));
  }

  void Stores() {
    float partial[16];
    std::memcpy(partial, input_.b, sizeof partial);
    L::StorePartial(partial, L::Load(input_.a), input_.count);
    PutBits("StorePartial", /*is_float=*/true, partial, sizeof partial);
    uint16_t halves[16];
    L::StoreHalf(halves, L::Load(input_.a));
    PutBits("StoreHalf", /*is_float=*/false, halves, sizeof halves);
    int8_t bytes[16];
    L::StoreSigned8(bytes, L::RoundToInt(Clamp(L::Load(input_.a), -127.0f, 127.0f)));
    PutBits("StoreSigned8", /*is_float=*/false, bytes, sizeof bytes);
    Put("RoundToHalf", L::RoundToHalf(L::Load(input_.a)));
  }

  void Arithmetic() {
    const Float a = L::Load(input_.a), b = L::Load(input_.b), c = L::Load(input_.c);
    Put("Add", L::Add(a, b));
    Put("Sub", L::Sub(a, b));
    Put("Mul", L::Mul(a, b));
    Put("Div", L::Div(a, b));
    Put("Fma", L::Fma(a, b, c));
    Put("Max", L::Max(a, b));
    Put("Min", L::Min(a, b));
    Put("Negate", L::Negate(a));
    Put("ZeroBelow", L::ZeroBelow(a, b, c));
    Put("Round", L::Round(a));
    Put("ScaleByPowerOfTwo", L::ScaleByPowerOfTwo(a, L::Round(Clamp(b, -126.0f, 127.0f))));
  }

  void Reductions() {
    const Float a = L::Load(input_.a), b = L::Load(input_.b);
    const float sum = L::Sum(a), largest = L::Largest(a);
    PutBits("Sum", /*is_float=*/true, &sum, sizeof sum);
    PutBits("Largest", /*is_float=*/true, &largest, sizeof largest);
    const Int magnitudes = L::MaxMagnitudeBits(L::MaxMagnitudeBits(L::SetInt(0), a), b);
    PutInts("MaxMagnitudeBits", magnitudes);
    PutInt("LargestInt", L::LargestInt(magnitudes));
  }

  void Integers() {
    const Int a = L::RoundToInt(Clamp(L::Load(input_.a), -1e6f, 1e6f)), b = L::RoundToInt(Clamp(L::Load(input_.b), -1e6f, 1e6f));
    PutInts("RoundToInt", a);
    PutInts("AddInt", L::AddInt(a, b));
    PutInt("SumInt", L::SumInt(a));
    PutInt("LargestInt of signed", L::LargestInt(a));
    PutInts("SetInt", L::SetInt(-input_.count));
    PutInts("SwapHalves", L::SwapHalves(a));
    PutInts("MulInt", L::MulInt(a, -128));
    Put("AsFloat", L::AsFloat(L::MaxMagnitudeBits(L::SetInt(0), L::Load(input_.a))));
    Int sixteen[16];
    for (int i = 0; i < 16; ++i) sixteen[i] = L::MulInt(L::AddInt(i % 3 == 0 ? b : a, L::SetInt(i)), i % 2 == 0 ? i : -i);
    PutInts("SumOfEach", L::SumOfEach(sixteen));
    PutInts("LargestOfEach", L::LargestOfEach(sixteen));
    int32_t stored[16];
    L::StoreInt(stored, a);
    PutBits("StoreInt", /*is_float=*/false, stored, sizeof stored);
    Put("ToFloat", L::ToFloat(L::AddInt(a, L::SetInt(1 << 30))));
  }

  void BitsOfIntegers() {
    const Int a = L::LoadInt(input_.bytes);
    PutInts("LoadInt", a);
    PutInts("LoadWords", L::LoadWords(input_.bytes + 1));
    PutInts("LoadUnsigned8", L::LoadUnsigned8(input_.bytes + 3));
    PutInts("ShiftLeft<24>", L::template ShiftLeft<24>(a));
    PutInts("ShiftRight<0>", L::template ShiftRight<0>(a));
    PutInts("ShiftRight<20>", L::template ShiftRight<20>(a));
    PutInts("ShiftRightSigned<0>", L::template ShiftRightSigned<0>(a));
    PutInts("ShiftRightSigned<24>", L::template ShiftRightSigned<24>(a));
    Put("LookUp", L::LookUp(L::Load(input_.b), a));
    Put("LowHalves", L::LowHalves(a));
  }

  void ByteFields() {
    const Bytes w = L::LoadBytes(input_.bytes);
    PutBytes("LoadBytes", w);
    alignas(64) std::byte stored[64];
    L::StoreBytes(stored, w);
    PutBits("StoreBytes", /*is_float=*/false, stored, sizeof stored);
    alignas(64) int32_t rows[8][8], columns[8][8];
    for (int i = 0; i < 64; ++i) rows[i / 8][i % 8] = static_cast<int32_t>(input_.bytes[i]) * (i + 1);
    L::Transpose(rows, columns);
    for (int i = 0; i < 8; i += 2) PutBits("Transpose", /*is_float=*/false, columns[i], 2 * sizeof columns[i]);
    PutBytes("Lookup", L::Lookup(reinterpret_cast<const uint8_t*>(input_.more_bytes), L::template Field<0, 15, 0>(w)));
    PutBytes("Or", L::Or(w, L::LoadBytes(input_.more_bytes)));
    PutBytes("Field<0, 255, 0>", L::template Field<0, 255, 0>(w));
    PutBytes("Field<0, 15, 0>", L::template Field<0, 15, 0>(w));
    PutBytes("Field<4, 15, 0>", L::template Field<4, 15, 0>(w));
    PutBytes("Field<0, 3, 0>", L::template Field<0, 3, 0>(w));
    PutBytes("Field<6, 3, 0>", L::template Field<6, 3, 0>(w));
    PutBytes("Field<0, 1, 2>", L::template Field<0, 1, 2>(w));
    PutBytes("Field<7, 1, 2>", L::template Field<7, 1, 2>(w));
    PutBytes("Field<0, 1, 4>", L::template Field<0, 1, 4>(w));
    PutBytes("Field<3, 1, 4>", L::template Field<3, 1, 4>(w));
    PutBytes("Field<7, 1, 4>", L::template Field<7, 1, 4>(w));
    PutBytes("Field<0, 3, 4>", L::template Field<0, 3, 4>(w));
    PutBytes("Field<2, 3, 4>", L::template Field<2, 3, 4>(w));
    PutBytes("Field<4, 3, 4>", L::template Field<4, 3, 4>(w));
    PutBytes("Field<6, 3, 4>", L::template Field<6, 3, 4>(w));
  }

  // The weights of a panel format have kBits bits; from a few bits up to all eight, no operation may saturate. The quad of 16 bits is made
  // of the quad of 8, so that both bytes of its values may be any.
  void Dots() {
    alignas(64) std::byte largest[64];
    std::memset(largest, 255, sizeof largest);
    int32_t quad[4], q[4];
    for (int i = 0; i < 4; ++i) quad[i] = input_.quad[i], q[i] = std::max(quad[i], -127);
    const int32_t least[4] = {-127, -127, -127, -127}, most[4] = {127, 127, 127, 127};
    PutDots<typename L::Products8, 4>(L::LoadBytes(input_.bytes), quad);
    PutDots<typename L::Products8, 4>(L::LoadBytes(largest), least);
    PutDots<typename L::Products8, 4>(L::LoadBytes(largest), most);
    const int32_t fine[4] = {256 * q[0] + q[1], 256 * q[1] - q[2], 256 * q[2] + q[3] / 2, 255 * q[3] + q[0] / 2};
    const int32_t fine_least[4] = {-32512, -32512, -32512, -32512}, fine_most[4] = {32512, 32512, 32512, 32512};
    PutDots<typename L::Products16, 8>(L::LoadBytes(input_.bytes), fine);
    PutDots<typename L::Products16, 8>(L::LoadBytes(largest), fine_least);
    PutDots<typename L::Products16, 8>(L::LoadBytes(largest), fine_most);
  }
  template <typename Products, int kQuadBytes>
  void PutDots(Bytes w, const int32_t* quad) {
    PutInts("Dot, 4 bits", EightQuads<Products, kQuadBytes, 4>(L::template Field<0, 15, 0>(w), quad));
    PutInts("Dot, 5 bits",
            EightQuads<Products, kQuadBytes, 5>(L::Or(L::template Field<0, 15, 0>(w), L::template Field<3, 1, 4>(w)), quad));
    PutInts("Dot, 6 bits",
            EightQuads<Products, kQuadBytes, 6>(L::Or(L::template Field<0, 15, 0>(w), L::template Field<2, 3, 4>(w)), quad));
    PutInts("Dot, 8 bits", EightQuads<Products, kQuadBytes, 8>(w, quad));
  }
  // Sums up a group as a kernel does, with the same weights and activations eight times.
  template <typename Products, int kQuadBytes, int kBits>
  Int EightQuads(Bytes w, const int32_t* quad) {
    float values[16];
    for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(quad[i % 4]);
    int8_t stored[4 * kQuadBytes];
    Products::StoreValues(stored, L::RoundToInt(L::Load(values)));
    const int taken_off = Products::template kTakenOff<kBits> * 8 * (quad[0] + quad[1] + quad[2] + quad[3]);
    Int sum = L::AddInt(L::RoundToInt(Clamp(L::Load(input_.a), -1e6f, 1e6f)), L::SetInt(taken_off));
    sum = OfPlane<Products, kQuadBytes, kBits, 0>(sum, w, stored);
    if constexpr (Products::template kPlanes<kBits> == 2) sum = OfPlane<Products, kQuadBytes, kBits, 1>(sum, w, stored);
    return sum;
  }
  template <typename Products, int kQuadBytes, int kBits, int kPlane>
  Int OfPlane(Int sum, Bytes w, const int8_t* stored) {
    constexpr int kAtOnce = std::min(8, Products::template kQuadsOfPairs<kBits>);
    for (int done = 0; done < 8; done += kAtOnce) {
      typename Products::Pairs pairs = Products::BeginPairs(sum);
      for (int i = 0; i < kAtOnce; ++i) {
        pairs = Products::Dot(pairs, Products::template TakePlane<kBits, kPlane>(w), stored + i % 4 * kQuadBytes);
      }
      sum = Products::template EndPairs<kPlane>(sum, pairs);
    }
    return sum;
  }

  void Functions() {
    const Float a = L::Load(input_.a);
    Put("ExpLanes", ExpLanes<L>(a));
    Put("SiluLanes", SiluLanes<L>(a));
    Put("GeluTanhLanes", GeluTanhLanes<L>(a));
  }

  static Float Clamp(Float x, float least, float most) { return L::Min(L::Max(x, L::Set(least)), L::Set(most)); }

  void Put(const char* operation, Float x) {
    float values[16];
    L::Store(values, x);
    PutBits(operation, /*is_float=*/true, values, sizeof values);
  }
  void PutInts(const char* operation, Int x) {
    static_assert(sizeof(Int) == 64);
    PutBits(operation, /*is_float=*/false, &x, sizeof x);
  }
  void PutInt(const char* operation, int32_t x) { PutBits(operation, /*is_float=*/false, &x, sizeof x); }
  void PutBytes(const char* operation, Bytes x) {
    static_assert(sizeof(Bytes) == 64);
    PutBits(operation, /*is_float=*/false, &x, sizeof x);
  }
  void PutBits(const char* operation, bool is_float, const void* from, size_t bytes) {
    if (results_.count == LanesResults::kMost) __builtin_trap();
    LanesResult& result = results_.results[results_.count++];
    result = {operation, is_float, {}};
    std::memcpy(result.bits, from, bytes);
  }

  const LanesInput& input_;
  LanesResults& results_;
};

}  // namespace tessera
