// Finds the sampling for a model: each value comes from the file (recommended_sampling.h), else from the model's family
// (family_sampling.h), else from the defaults.
//
//   const ModelSampling model = SamplingOfModel(*file);
//   for (const RecommendedSampling::Wrong& each : model.wrong) RETURN_IF_ERROR(each.problem);
//   ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create(model.options));
//   const std::string from = model.OriginOf("temperature");             // "file", "SmolLM2", or "" for the usual value
//
// Thread-safe (pure function).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/recommended_sampling.h"
#include "tessera/model/text/sampler.h"

namespace tessera {

inline constexpr char kOfFile[] = "file";

struct ModelSampling {
  SamplingOptions options;
  std::map<std::string, std::string> origins = {};   // By the names of options' fields; a field with the default is absent.
  // As in RecommendedSampling.
  std::vector<std::string> not_applied = {};
  std::vector<RecommendedSampling::Wrong> wrong = {};

  std::string OriginOf(const std::string& field) const;
};

ModelSampling SamplingOfModel(const GgufFile& file);

}  // namespace tessera
