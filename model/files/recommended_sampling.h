// The sampling that a model's file recommends, under "general.sampling.*".
//
//   const RecommendedSampling recommended = ReadRecommendedSampling(*file);
//   if (recommended.temperature.has_value()) options.temperature = *recommended.temperature;
//   for (const RecommendedSampling::Wrong& each : recommended.wrong) RETURN_IF_ERROR(each.problem);   // unless the user chose that field
//   for (const std::string& key : recommended.not_applied) Warn(key);
//
// Numbers may have any type. Thread-safe (pure function).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

// The recommendation of a file. Fields are the fields of SamplingOptions (model/text/sampler.h), within the same ranges; nullopt: no
// recommendation.
struct RecommendedSampling {
  std::optional<float> temperature = std::nullopt;
  std::optional<int> top_k = std::nullopt;
  std::optional<float> top_p = std::nullopt;
  std::optional<float> min_p = std::nullopt;
  std::optional<float> repetition_penalty = std::nullopt;
  std::optional<int> penalty_window = std::nullopt;
  // Keys with values that ask for steps that the sampler does not have, or for another order of steps.
  std::vector<std::string> not_applied = {};
  // Fields whose keys hold an unusable value: InvalidArgument with file, key, offset, the value found and the value expected.
  struct Wrong { std::string field; absl::Status problem; };
  std::vector<Wrong> wrong = {};

  bool empty() const {
    return !temperature.has_value() && !top_k.has_value() && !top_p.has_value() && !min_p.has_value() &&
           !repetition_penalty.has_value() && !penalty_window.has_value();
  }
};

RecommendedSampling ReadRecommendedSampling(const GgufFile& file);

}  // namespace tessera
