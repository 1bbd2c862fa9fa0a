#include "tessera/tensor/rope.h"

#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace tessera {
namespace {

using Scaling = RopeConfig::Scaling;

std::vector<float> Filled(const RopeConfig& config, int32_t position) {
  absl::StatusOr<RopeTable> table = RopeTable::Create(config);
  EXPECT_TRUE(table.ok()) << table.status();
  if (!table.ok()) return std::vector<float>(config.dimensions);
  std::vector<float> cos_sin(table->dimensions());
  table->Fill(position, absl::MakeSpan(cos_sin));
  return cos_sin;
}

// The value an exact computation rounds to, or its neighbour: the reference is itself one double's rounding away.
void ExpectAngle(const std::vector<float>& cos_sin, int pair, double angle, double magnitude = 1) {
  EXPECT_FLOAT_EQ(cos_sin[2 * pair], static_cast<float>(magnitude * std::cos(angle))) << "pair " << pair;
  EXPECT_FLOAT_EQ(cos_sin[2 * pair + 1], static_cast<float>(magnitude * std::sin(angle))) << "pair " << pair;
}

TEST(RopeTable, HeaderExample) {
  const auto cos_sin_at = [](int32_t position) -> absl::StatusOr<std::vector<float>> {
    RopeConfig config = {.dimensions = 64, .base = 10'000};
    absl::StatusOr<RopeTable> table = RopeTable::Create(config);
    if (!table.ok()) return table.status();
    std::vector<float> cos_sin(table->dimensions());
    table->Fill(position, absl::MakeSpan(cos_sin));
    return cos_sin;
  };
  const absl::StatusOr<std::vector<float>> cos_sin = cos_sin_at(3);
  ASSERT_TRUE(cos_sin.ok());
  ASSERT_EQ(cos_sin->size(), 64u);
  ExpectAngle(*cos_sin, 0, 3);
}

TEST(RopeTable, PositionZeroTurnsNothing) {
  const std::vector<float> cos_sin = Filled({.dimensions = 8}, 0);
  EXPECT_EQ(cos_sin, (std::vector<float>{1, 0, 1, 0, 1, 0, 1, 0}));
}

TEST(RopeTable, FrequenciesFallGeometricallyWithTheBase) {
  for (const int32_t position : {1, 77, 131'071, 2'000'000'000}) {
    const std::vector<float> cos_sin = Filled({.dimensions = 128, .base = 500'000}, position);
    for (int i = 0; i < 64; ++i) {
      const long double angle = std::fmod(position * std::pow(500'000.0L, -i / 64.0L), 2 * std::acos(-1.0L));
      EXPECT_NEAR(cos_sin[2 * i], std::cos(angle), 1e-7 + position * 1e-15) << "pair " << i;
      EXPECT_NEAR(cos_sin[2 * i + 1], std::sin(angle), 1e-7 + position * 1e-15) << "pair " << i;
    }
  }
}

TEST(RopeTable, LinearScalingSlowsEveryPair) {
  const std::vector<float> scaled = Filled({.dimensions = 16, .scaling = Scaling::kLinear, .factor = 4}, 4 * 37);
  EXPECT_EQ(scaled, Filled({.dimensions = 16}, 37));
}

TEST(RopeTable, NoScalingIgnoresTheFactor) {
  EXPECT_EQ(Filled({.dimensions = 16, .factor = 4}, 37), Filled({.dimensions = 16}, 37));
}

TEST(RopeTable, FrequencyFactorsDivideTheAngleOfTheirPair) {
  RopeConfig config = {.dimensions = 6, .frequency_factors = {1, 2.5f, 8}};
  const std::vector<float> cos_sin = Filled(config, 50);
  ExpectAngle(cos_sin, 0, 50);
  ExpectAngle(cos_sin, 1, 50 * std::pow(10'000, -1 / 3.0) / 2.5);
  ExpectAngle(cos_sin, 2, 50 * std::pow(10'000, -2 / 3.0) / 8);
}

// By hand: 128 ln(32768 / (2 pi 32)) / (2 ln 10^6) = 23.6 and 128 ln(32768 / (2 pi)) / (2 ln 10^6) = 39.7, so pairs up to 23
// keep their frequency, those from 40 are slowed by 4, and pair 30 keeps 10/17 of it; all grow by 1 + 0.1 ln 4.
TEST(RopeTable, YarnKeepsFastPairsSlowsSlowPairsAndMixesPairsBetween) {
  const RopeConfig config = {.dimensions = 128, .base = 1e6, .scaling = Scaling::kYarn, .factor = 4, .original_context = 32768};
  const std::vector<float> cos_sin = Filled(config, 1000);
  const double magnitude = 1.138629436111989;
  const auto plain = [](int pair) { return 1000 * std::pow(1e6, -pair / 64.0); };
  for (int pair = 0; pair <= 23; ++pair) ExpectAngle(cos_sin, pair, plain(pair), magnitude);
  for (int pair = 40; pair < 64; ++pair) ExpectAngle(cos_sin, pair, plain(pair) / 4, magnitude);
  ExpectAngle(cos_sin, 24, plain(24) * (16 / 17.0 + 1 / 17.0 / 4), magnitude);
  ExpectAngle(cos_sin, 30, plain(30) * (10 / 17.0 + 7 / 17.0 / 4), magnitude);
}

TEST(RopeTable, YarnWithoutExtrapolationIsLinearScaling) {
  RopeConfig config = {.dimensions = 64, .scaling = Scaling::kYarn, .factor = 4, .original_context = 2048, .ext_factor = 0};
  EXPECT_EQ(Filled(config, 99), Filled({.dimensions = 64, .scaling = Scaling::kLinear, .factor = 4}, 99));
}

TEST(RopeTable, YarnOfATinyContextKeepsOnlyTheFirstPair) {
  const RopeConfig config = {.dimensions = 8, .scaling = Scaling::kYarn, .factor = 2, .original_context = 4};
  const std::vector<float> cos_sin = Filled(config, 1);
  const double magnitude = 1 + 0.1 * std::log(2.0);
  ExpectAngle(cos_sin, 0, 1, magnitude);
  for (int pair = 1; pair < 4; ++pair) ExpectAngle(cos_sin, pair, std::pow(10.0, -pair) / 2, magnitude);
}

TEST(RopeTable, YarnDoesNotShrinkWhenTheContextIsShortened) {
  const RopeConfig config = {.dimensions = 8, .scaling = Scaling::kYarn, .factor = 0.5, .original_context = 4096};
  EXPECT_EQ(Filled(config, 0)[0], 1);
}

TEST(RopeTable, AttentionFactorMultipliesEveryValue) {
  const std::vector<float> cos_sin = Filled({.dimensions = 4, .attn_factor = 1.5}, 7);
  ExpectAngle(cos_sin, 0, 7, 1.5);
  ExpectAngle(cos_sin, 1, 0.07, 1.5);
}

void ExpectRefused(const RopeConfig& config, const std::string& message) {
  const absl::Status status = RopeTable::Create(config).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), message);
}

TEST(RopeTable, RefusesConfigurationsWithoutATableAndSaysWhy) {
  const double infinity = std::numeric_limits<double>::infinity();
  ExpectRefused({.dimensions = 7}, "rope.dimension_count: found 7, expected an even number from 2 to 65536");
  ExpectRefused({}, "rope.dimension_count: found 0, expected an even number from 2 to 65536");
  ExpectRefused({.dimensions = 1 << 30}, "rope.dimension_count: found 1073741824, expected an even number from 2 to 65536");
  ExpectRefused({.dimensions = 8, .base = 0}, "rope.freq_base: found 0, expected a finite number above 0");
  ExpectRefused({.dimensions = 8, .base = infinity}, "rope.freq_base: found inf, expected a finite number above 0");
  ExpectRefused({.dimensions = 8, .base = std::nan("")}, "rope.freq_base: found nan, expected a finite number above 0");
  for (const Scaling scaling : {Scaling::kLinear, Scaling::kYarn}) {
    for (const auto& [factor, text] : std::vector<std::pair<double, std::string>>{
             {0, "0"}, {-4, "-4"}, {std::nan(""), "nan"}, {infinity, "inf"}, {1e30, "1e+30"}}) {
      ExpectRefused({.dimensions = 8, .scaling = scaling, .factor = factor},
                    "rope.scaling.factor: found " + text + ", expected above 0, at most 16777216");
    }
  }
  ExpectRefused({.dimensions = 8, .attn_factor = -1}, "rope.scaling.attn_factor: found -1, expected a finite number above 0");
  ExpectRefused({.dimensions = 8, .frequency_factors = {1, 2}},
                "rope_freqs.weight: found 2 values, expected 4, one for each pair");
  ExpectRefused({.dimensions = 4, .frequency_factors = {1, 0}},
                "rope_freqs.weight[1]: found 0, expected a finite number above 0");
}

TEST(RopeTable, RefusesYarnWithoutItsNumbers) {
  RopeConfig config = {.dimensions = 8, .scaling = Scaling::kYarn, .factor = 4};
  ExpectRefused(config, "rope.scaling.original_context_length: found 0, expected a number above 0 (for YaRN)");
  config.original_context = 4096;
  config.ext_factor = 2;
  ExpectRefused(config, "rope.scaling.yarn_ext_factor: found 2, expected 0 to 1");
  config.ext_factor = 1;
  config.beta_fast = 0.5;
  ExpectRefused(config, "rope.scaling.yarn_beta_fast: found 0.5, expected a finite number of at least yarn_beta_slow = 1");
  config.beta_slow = 0;
  ExpectRefused(config, "rope.scaling.yarn_beta_slow: found 0, expected a finite number above 0");
  config.base = 1;
  ExpectRefused(config, "rope.freq_base: found 1, expected a number above 1 (for YaRN)");
}

TEST(RopeTable, RefusesNumbersWhoseAnglesOrValuesWouldNotBeNumbers) {
  ExpectRefused({.dimensions = 4, .base = 1e-300},
                "rope, frequency of pair 1: found 1e+150, expected at most 512 radians a position");
  ExpectRefused({.dimensions = 2, .scaling = Scaling::kLinear, .factor = 1e-320},
                "rope, frequency of pair 0: found inf, expected at most 512 radians a position");
  ExpectRefused({.dimensions = 2, .attn_factor = 1e39},
                "rope.scaling.attn_factor: found 1e+39 with YaRN's own, expected a number that fits in FP32");
}

}  // namespace
}  // namespace tessera
