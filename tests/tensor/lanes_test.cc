// Tests of tensor/kernels/lanes_{portable,avx2,avx512,neon}.h and elementwise.h.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/tensor/lanes_probe.h"

namespace tessera {
namespace {

using Probe = void (*)(const LanesInput&, LanesResults&);

// Null where this build has no such lanes.
Probe ProbeOf(KernelPath path) {
  switch (path) {
#if defined(__x86_64__)
    case KernelPath::kAvx2: return ProbeLanesAvx2;
    case KernelPath::kAvx512Vnni: return ProbeLanesAvx512;
#elif defined(__aarch64__)
    case KernelPath::kNeon: return ProbeLanesNeon;
#endif
    default: return nullptr;
  }
}

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Ordinary numbers, numbers halfway between whole ones, any bits at all, and the values that arithmetic treats apart.
float AnyFloat(SeededRandom& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {0.0f, -0.0f, 1.0f, -1.0f, kInfinity, -kInfinity, 1e-45f, -1e-45f, 1.1754942e-38f, -1.1754942e-38f,
                                1.17549435e-38f, 3.4028235e38f, -3.4028235e38f, 65504.0f, 65520.0f, 5.9604645e-8f, 2.9802322e-8f,
                                -87.0f, 88.0f, 127.5f, std::numeric_limits<float>::quiet_NaN()};
  switch (random.Below(5)) {
    case 0: return kSpecial[random.Below(std::size(kSpecial))];
    case 1: return static_cast<float>(random.Below(513) - 256) / 2;
    case 2: return FromBits(static_cast<uint32_t>(random.Next()));
    default: return random.Uniform(-100.0f, 100.0f);
  }
}

LanesInput AnyInput(SeededRandom& random) {
  LanesInput input;
  const bool extreme = random.Below(8) == 0;  // The largest weights against the largest activations: where sums could saturate.
  for (float* values : {input.a, input.b, input.c}) {
    for (int i = 0; i < 16; ++i) values[i] = AnyFloat(random);
  }
  for (int i = 0; i < 64; ++i) {
    input.bytes[i] = static_cast<std::byte>(extreme ? 255 : random.Below(256));
    input.more_bytes[i] = static_cast<std::byte>(random.Below(256));
  }
  const int64_t sign = random.Below(2) == 0 ? -128 : 127;
  for (int8_t& q : input.quad) q = static_cast<int8_t>(extreme ? sign : random.Below(256) - 128);
  input.count = static_cast<int>(random.Below(17));
  return input;
}

// NaNs may differ in sign and payload, which no kernel looks at.
bool SameBits(const LanesResult& a, const LanesResult& b, int lane) {
  if (a.bits[lane] == b.bits[lane]) return true;
  return a.is_float && std::isnan(FromBits(a.bits[lane])) && std::isnan(FromBits(b.bits[lane]));
}

void ExpectSame(const LanesResults& found, const LanesResults& expected) {
  ASSERT_EQ(found.count, expected.count);
  for (int i = 0; i < found.count; ++i) {
    for (int lane = 0; lane < 16; ++lane) {
      const LanesResult& a = found.results[i];
      const LanesResult& b = expected.results[i];
      ASSERT_TRUE(SameBits(a, b, lane)) << a.operation << " lane " << lane << ": found " << std::hex << a.bits[lane]
                                        << ", expected " << b.bits[lane];
    }
  }
}

void ExpectPathMatchesPortable(KernelPath path) {
  const std::vector<KernelPath> supported = SupportedKernelPaths();
  if (std::count(supported.begin(), supported.end(), path) == 0) {
    GTEST_SKIP() << "this CPU lacks the instructions of " << std::string(KernelPathName(path));
  }
  const Probe probe = ProbeOf(path);
  ASSERT_NE(probe, nullptr);
  SeededRandom random(20);
  LanesResults found, expected;
  for (int round = 0; round < 3000 && !testing::Test::HasFatalFailure(); ++round) {
    const LanesInput input = AnyInput(random);
    probe(input, found);
    ProbeLanesPortable(input, expected);
    ExpectSame(found, expected);
  }
}

TEST(Lanes, Avx2GivesThePortableBits) { ExpectPathMatchesPortable(KernelPath::kAvx2); }
TEST(Lanes, Avx512GivesThePortableBits) { ExpectPathMatchesPortable(KernelPath::kAvx512Vnni); }
TEST(Lanes, NeonGivesThePortableBits) { ExpectPathMatchesPortable(KernelPath::kNeon); }

TEST(Lanes, HeaderExample) {
  using L = LanesPortable;
  float a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = static_cast<float>(i), b[i] = 2;
  L::Float sum = L::Fma(L::Load(a), L::Load(b), L::Zero());
  float total = L::Sum(sum);
  EXPECT_EQ(total, 240);
}

TEST(Lanes, SumIsOneFixedTree) {
  float values[16] = {};
  values[0] = 1, values[8] = 1e8f, values[4] = -1e8f, values[12] = 0;
  EXPECT_EQ(LanesPortable::Sum(LanesPortable::Load(values)), 0);  // (1 + 1e8) rounds to 1e8 before -1e8 is added.
  values[8] = -1e8f, values[0] = 1e8f, values[4] = 1, values[12] = 0;
  EXPECT_EQ(LanesPortable::Sum(LanesPortable::Load(values)), 1);  // Lanes i and i + 8 meet first.
}

TEST(Lanes, ALookupTakesTheLowFourBitsOfACode) {
  using L = LanesPortable;
  float table[16];
  int32_t codes[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<float>(100 + i), codes[i] = (15 - i) | i << 4 | ~0xfffff;
  const L::Float found = L::LookUp(L::Load(table), L::LoadInt(codes));
  for (int i = 0; i < 16; ++i) EXPECT_EQ(found.v[i], 115 - i);
  const L::Int shifted = L::ShiftRight<28>(L::LoadInt(codes)), signs = L::ShiftRightSigned<28>(L::LoadInt(codes));
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(shifted.v[i], 15);
    EXPECT_EQ(signs.v[i], -1);
  }
}

TEST(Lanes, RoundingToHalfIsToEvenAndTooLargeIsInfinite) {
  using L = LanesPortable;
  EXPECT_EQ(L::RoundToHalf(L::Set(2049.0f)).v[3], 2048.0f);
  EXPECT_EQ(L::RoundToHalf(L::Set(2051.0f)).v[3], 2052.0f);
  EXPECT_EQ(L::RoundToHalf(L::Set(65519.0f)).v[3], 65504.0f);
  EXPECT_EQ(L::RoundToHalf(L::Set(-65520.0f)).v[3], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(L::LowHalves(L::SetInt(0x7fff3c00)).v[3], 1.0f);
}

template <typename Products>
int32_t WorstDot(int32_t activation) {
  std::byte weights[64];
  std::memset(weights, 255, sizeof weights);
  int8_t stored[32];
  Products::StoreValues(stored, LanesPortable::SetInt(activation));
  const LanesPortable::Int start = LanesPortable::SetInt(5);
  const auto pairs = Products::Dot(Products::BeginPairs(start), LanesPortable::LoadBytes(weights), stored);
  const LanesPortable::Int sum = Products::template EndPairs<0>(start, pairs);
  for (const int32_t lane : sum.v) EXPECT_EQ(lane, sum.v[0]);
  return sum.v[0];
}

TEST(Lanes, DotIsExactForTheWorstWeights) {
  EXPECT_EQ(WorstDot<LanesPortable::Products8>(-128), 5 - 4 * 255 * 128);
  EXPECT_EQ(WorstDot<LanesPortable::Products16>(-32512), 5 - 4 * 255 * 32512);
}

// One function of elementwise.h at one place, on the lanes that every other instruction set equals.
template <LanesPortable::Float (*kFunction)(LanesPortable::Float)>
float At(float x) { return kFunction(LanesPortable::Set(x)).v[5]; }

TEST(Elementwise, HeaderExample) {
  using L = LanesPortable;
  const L::Float score = L::Set(1.5f), largest = L::Set(2.0f);
  L::Float probability = ExpLanes<L>(L::Sub(score, largest));
  EXPECT_NEAR(probability.v[0], std::exp(-0.5), 1e-7);
}

TEST(Elementwise, ExpIsWithinThreeTenMillionths) {
  SeededRandom random(21);
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    const float x = i % 2 == 0 ? random.Uniform(-87.0f, 88.0f) : random.Uniform(-2.0f, 2.0f);
    const double exact = std::exp(double{x});
    worst = std::max(worst, std::abs(At<ExpLanes<LanesPortable>>(x) - exact) / exact);
  }
  EXPECT_LT(worst, 3e-7);
}

TEST(Elementwise, ExpOfZeroIsOneAndLimitsAreZeroAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(At<ExpLanes<LanesPortable>>(0.0f), 1.0f);
  EXPECT_EQ(At<ExpLanes<LanesPortable>>(-kInfinity), 0.0f);
  EXPECT_EQ(At<ExpLanes<LanesPortable>>(-87.5f), 0.0f);
  EXPECT_GT(At<ExpLanes<LanesPortable>>(-87.0f), 0.0f);
  EXPECT_EQ(At<ExpLanes<LanesPortable>>(kInfinity), kInfinity);
  EXPECT_TRUE(std::isfinite(At<ExpLanes<LanesPortable>>(88.0f)));
}

TEST(Elementwise, SiluIsCloseToTheExactOne) {
  SeededRandom random(22);
  for (int i = 0; i < 5000; ++i) {
    const float x = random.Uniform(-80.0f, 80.0f);
    const double exact = x / (1 + std::exp(-double{x}));
    EXPECT_NEAR(At<SiluLanes<LanesPortable>>(x), exact, 5e-7 * std::abs(exact) + 1e-30) << x;
  }
}

// The exponent 2 u is rounded to FP32 before exp: its error grows with |u|, and so does that of small results.
TEST(Elementwise, GeluIsCloseToTheExactOne) {
  SeededRandom random(23);
  for (int i = 0; i < 5000; ++i) {
    const float x = random.Uniform(-12.0f, 12.0f);
    const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * double{x} * x);
    const double exact = x / (1 + std::exp(-2 * u));
    EXPECT_NEAR(At<GeluTanhLanes<LanesPortable>>(x), exact, (5e-7 + 3e-7 * std::abs(u)) * std::abs(exact) + 1e-35) << x;
  }
}

TEST(Elementwise, NaNStaysNaNInActivations) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(At<SiluLanes<LanesPortable>>(nan)));
  EXPECT_TRUE(std::isnan(At<GeluTanhLanes<LanesPortable>>(nan)));
}

}  // namespace
}  // namespace tessera
