// The sampling that the makers of a family of models recommend, for files without a recommendation (recommended_sampling.h).
//
//   if (const FamilySampling* family = FamilySamplingOf(*file); family != nullptr && family->temperature.has_value()) {
//     options.temperature = *family->temperature;                                       // 0.2 for SmolLM2
//   }
//
// A family is recognized by general.architecture and general.basename. Without a basename, general.name up to the size counts: "SmolLM2
// 135M Instruct" is a smollm2. Thread-safe (constant data and a pure function).
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

// The recommendation for one family. Fields are the fields of SamplingOptions (model/text/sampler.h), within the same ranges; nullopt: no
// recommendation.
struct FamilySampling {
  const char* family;        // "SmolLM2"
  const char* source;        // Source of the recommendation.
  const char* architecture;
  const char* basenames;     // In lower case, with dashes: "smollm2,smollm".
  const char* sizes = "";    // Sizes as in general.size_label: "0.5b,1.5b"; empty: all.
  const char* with = "";     // Text in general.name or general.finetune, with this spelling; empty: none.
  const char* without = "";  // Text in neither field; empty: none.
  bool has_template = false;            // Only files with a chat template: a base model of this name is sampled differently.
  std::optional<float> temperature = std::nullopt;
  std::optional<int> top_k = std::nullopt;
  std::optional<float> top_p = std::nullopt;
  std::optional<float> min_p = std::nullopt;
  std::optional<float> repetition_penalty = std::nullopt;
};

// Returns all rows. If two rows fit a file, the first counts.
absl::Span<const FamilySampling> FamilySamplings();

// Returns the file's row; null: no family of the table.
const FamilySampling* FamilySamplingOf(const GgufFile& file);

}  // namespace tessera
