#include "tessera/tensor/rope.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "tessera/base/elementary.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kMostDimensions = 1 << 16;   // Far above any head; keeps a hostile file from making a table of gigabytes.
constexpr int kLargestFactor = 1 << 24;    // The longest context in tokens: no context became longer by a larger factor.
constexpr double kLargestFrequency = 512;  // Radians per position. 2^31 positions of this reach the limit of SinCos's precision.

bool IsFiniteAndPositive(double value) { return value > 0 && value <= std::numeric_limits<double>::max(); }

template <typename Value>
absl::Status Unexpected(absl::string_view field, Value found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": found ", found, ", expected ", expected));
}

absl::Status CheckYarn(const RopeConfig& config) {
  if (config.original_context <= 0) {
    return Unexpected("rope.scaling.original_context_length", config.original_context, "a number above 0 (for YaRN)");
  }
  if (config.base <= 1) return Unexpected("rope.freq_base", config.base, "a number above 1 (for YaRN)");
  if (!(config.ext_factor >= 0 && config.ext_factor <= 1)) {
    return Unexpected("rope.scaling.yarn_ext_factor", config.ext_factor, "0 to 1");
  }
  if (!IsFiniteAndPositive(config.beta_slow)) {
    return Unexpected("rope.scaling.yarn_beta_slow", config.beta_slow, "a finite number above 0");
  }
  if (!(config.beta_fast >= config.beta_slow && IsFiniteAndPositive(config.beta_fast))) {
    return Unexpected("rope.scaling.yarn_beta_fast", config.beta_fast,
                      absl::StrCat("a finite number of at least yarn_beta_slow = ", config.beta_slow));
  }
  return absl::OkStatus();
}

absl::Status Check(const RopeConfig& config) {
  if (config.dimensions <= 0 || config.dimensions % 2 != 0 || config.dimensions > kMostDimensions) {
    return Unexpected("rope.dimension_count", config.dimensions, absl::StrCat("an even number from 2 to ", kMostDimensions));
  }
  if (!IsFiniteAndPositive(config.base)) return Unexpected("rope.freq_base", config.base, "a finite number above 0");
  if (config.scaling != RopeConfig::Scaling::kNone && !(config.factor > 0 && config.factor <= kLargestFactor)) {
    return Unexpected("rope.scaling.factor", config.factor, absl::StrCat("above 0, at most ", kLargestFactor));
  }
  if (!IsFiniteAndPositive(config.attn_factor)) {
    return Unexpected("rope.scaling.attn_factor", config.attn_factor, "a finite number above 0");
  }
  const size_t pairs = config.dimensions / 2, factors = config.frequency_factors.size();
  if (factors != 0 && factors != pairs) {
    return Unexpected("rope_freqs.weight", absl::StrCat(factors, " values"), absl::StrCat(pairs, ", one for each pair"));
  }
  for (size_t i = 0; i < factors; ++i) {
    const float factor = config.frequency_factors[i];
    if (!IsFiniteAndPositive(factor)) {
      return Unexpected(absl::StrCat("rope_freqs.weight[", i, "]"), factor, "a finite number above 0");
    }
  }
  return config.scaling == RopeConfig::Scaling::kYarn ? CheckYarn(config) : absl::OkStatus();
}

// Checks the results: a hostile base or factor must not give angles or values that are NaN or infinite.
absl::Status CheckResults(absl::Span<const double> frequencies, double magnitude) {
  for (size_t i = 0; i < frequencies.size(); ++i) {
    if (!(frequencies[i] <= kLargestFrequency)) {
      return Unexpected(absl::StrCat("rope, frequency of pair ", i), frequencies[i],
                        absl::StrCat("at most ", kLargestFrequency, " radians a position"));
    }
  }
  if (!(magnitude <= std::numeric_limits<float>::max())) {
    return Unexpected("rope.scaling.attn_factor", absl::StrCat(magnitude, " with YaRN's own"), "a number that fits in FP32");
  }
  return absl::OkStatus();
}

// Returns the pair, as a real number, that makes `turns` full turns within the original context. That is the i for which original_context *
// base^(-2 i / dimensions) = 2 pi turns.
double PairWithTurns(const RopeConfig& config, double turns) {
  const double ratio = config.original_context / (2 * kPi * turns);
  return config.dimensions * elementary::Log(ratio) / (2 * elementary::Log(config.base));
}

// How much of each pair's own frequency YaRN keeps: 1 up to pair `first`, 0 from pair `last`, a straight line between.
// Both are rounded outwards to whole pairs and held to [0, dimensions - 1], as models were trained.
class YarnRamp {
 public:
  explicit YarnRamp(const RopeConfig& config) {
    const double limit = config.dimensions - 1;
    const double first = std::clamp(PairWithTurns(config, config.beta_fast), 0.0, limit);
    const double last = std::clamp(PairWithTurns(config, config.beta_slow), 0.0, limit);
    first_ = static_cast<int>(first);
    last_ = static_cast<int>(last) + (last > static_cast<int>(last) ? 1 : 0);
    strength_ = config.ext_factor;
  }

  double Kept(int pair) const {
    const double along = (pair - first_) / std::max(0.001, static_cast<double>(last_ - first_));  // One pair: a step.
    return strength_ * (1 - std::clamp(along, 0.0, 1.0));
  }

 private:
  int first_;
  int last_;
  double strength_;
};

// The share of each pair's frequency that scaling leaves.
std::vector<double> ScaleOfPairs(const RopeConfig& config) {
  std::vector<double> scales(config.dimensions / 2, 1.0);
  if (config.scaling == RopeConfig::Scaling::kLinear) {
    std::fill(scales.begin(), scales.end(), 1 / config.factor);
  } else if (config.scaling == RopeConfig::Scaling::kYarn) {
    const YarnRamp ramp(config);
    for (size_t i = 0; i < scales.size(); ++i) {
      const double kept = ramp.Kept(static_cast<int>(i));
      scales[i] = (1 - kept) / config.factor + kept;
    }
  }
  return scales;
}

double MagnitudeOf(const RopeConfig& config) {
  const bool yarn = config.scaling == RopeConfig::Scaling::kYarn && config.ext_factor > 0 && config.factor > 1;
  return config.attn_factor * (yarn ? 1 + 0.1 * elementary::Log(config.factor) : 1);
}

}  // namespace

absl::StatusOr<RopeTable> RopeTable::Create(const RopeConfig& config) {
  RETURN_IF_ERROR(Check(config));
  RopeTable table;
  table.magnitude_ = MagnitudeOf(config);
  table.frequencies_ = ScaleOfPairs(config);
  for (size_t i = 0; i < table.frequencies_.size(); ++i) {
    table.frequencies_[i] *= elementary::Pow(config.base, -2.0 * static_cast<double>(i) / config.dimensions);
    if (!config.frequency_factors.empty()) table.frequencies_[i] /= config.frequency_factors[i];
  }
  RETURN_IF_ERROR(CheckResults(table.frequencies_, table.magnitude_));
  return table;
}

void RopeTable::Fill(int32_t position, absl::Span<float> cos_sin) const {
  CHECK_EQ(cos_sin.size(), 2 * frequencies_.size()) << "RopeTable::Fill: values in cos_sin";
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    const auto [sine, cosine] = elementary::SinCos(position * frequencies_[i]);
    cos_sin[2 * i] = static_cast<float>(cosine * magnitude_);
    cos_sin[2 * i + 1] = static_cast<float>(sine * magnitude_);
  }
}

}  // namespace tessera
