// How the makers of a family of models sample, for files that do not say it themselves (recommended_sampling.h).
//
//   if (const FamilySampling* family = FamilySamplingOf(*file); family != nullptr && family->temperature.has_value()) {
//     options.temperature = *family->temperature;                                       // 0.2 for SmolLM2
//   }
//
// A family is told by general.architecture and by general.basename or, without a basename, by general.name up to the size: "SmolLM2 135M
// Instruct" is a smollm2. Thread-safe (constant data and a pure function).
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

// Fields are those of SamplingOptions (model/text/sampler.h), within their ranges; none: the makers do not say.
struct FamilySampling {
  const char* family;        // "SmolLM2"
  const char* source;        // Where the makers say it.
  const char* architecture;
  const char* basenames;     // In lower case, with dashes: "smollm2,smollm".
  const char* sizes = "";    // Sizes as in general.size_label: "0.5b,1.5b"; empty: all.
  const char* with = "";     // Text in general.name or general.finetune, so written; empty: none.
  const char* without = "";  // Text that is in neither; empty: none.
  bool has_template = false;            // Only files with a chat template: a base model of this name is sampled otherwise.
  std::optional<float> temperature = std::nullopt;
  std::optional<int> top_k = std::nullopt;
  std::optional<float> top_p = std::nullopt;
  std::optional<float> min_p = std::nullopt;
  std::optional<float> repetition_penalty = std::nullopt;
};

// All rows; of two that fit a file the first counts.
absl::Span<const FamilySampling> FamilySamplings();

// Null: no family of the table.
const FamilySampling* FamilySamplingOf(const GgufFile& file);

}  // namespace tessera
