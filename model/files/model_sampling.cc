#include "tessera/model/files/model_sampling.h"

#include <optional>

#include "tessera/model/files/family_sampling.h"

namespace tessera {

std::string ModelSampling::OriginOf(const std::string& field) const {
  const auto origin = origins.find(field);
  return origin == origins.end() ? "" : origin->second;
}

ModelSampling SamplingOfModel(const GgufFile& file) {
  const RecommendedSampling of_file = ReadRecommendedSampling(file);
  const FamilySampling* const row = FamilySamplingOf(file);
  const FamilySampling of_family = row == nullptr ? FamilySampling() : *row;
  ModelSampling model;
  model.not_applied = of_file.not_applied;
  model.wrong = of_file.wrong;
  const auto take = [&](const char* field, auto& place, const auto& files, const auto& familys) {
    if (!files.has_value() && !familys.has_value()) return;
    place = files.has_value() ? *files : *familys;
    model.origins[field] = files.has_value() ? kOfFile : of_family.family;
  };
  SamplingOptions& options = model.options;
  take("temperature", options.temperature, of_file.temperature, of_family.temperature);
  take("top_k", options.top_k, of_file.top_k, of_family.top_k);
  take("top_p", options.top_p, of_file.top_p, of_family.top_p);
  take("min_p", options.min_p, of_file.min_p, of_family.min_p);
  take("repetition_penalty", options.repetition_penalty, of_file.repetition_penalty, of_family.repetition_penalty);
  take("penalty_window", options.penalty_window, of_file.penalty_window, std::optional<int>());
  return model;
}

}  // namespace tessera
