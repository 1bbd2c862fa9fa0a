#include "tessera/apps/lab/papers/figures/coster_cache.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/block_graph.h"
#include "tessera/npu/fold_biases.h"

namespace tessera {

absl::StatusOr<const KnownModels::Model*> KnownModels::Of(const std::string& shape) {
  if (const auto found = models_.find(shape); found != models_.end()) return &found->second;
  Model model;
  ASSIGN_OR_RETURN(model.file, OpenKnownShape(shape));
  ASSIGN_OR_RETURN(model.config, ReadModelConfig(*model.file));
  ASSIGN_OR_RETURN(model.layout, WeightLayout::Plan(*model.file, model.config, WeightEncoding::kPacked));
  return &models_.emplace(shape, std::move(model)).first->second;
}

absl::StatusOr<const ModelConfig*> CosterCache::ConfigOf(const std::string& shape) {
  ASSIGN_OR_RETURN(const KnownModels::Model* const model, models_.Of(shape));
  return &model->config;
}

absl::StatusOr<Graph> CosterCache::LayerGraphOf(const std::string& shape, const std::string& recipe) {
  ASSIGN_OR_RETURN(const KnownModels::Model* const model, models_.Of(shape));
  ASSIGN_OR_RETURN(const WeightRecipe forms, WeightRecipe::Parse(recipe));
  Graph graph = BuildLayerGraph(model->config, model->layout, 0).graph;
  for (GraphWeight& weight : graph.weights) {
    if (weight.vector) continue;
    const WeightForm form = forms.FormOf(weight.spec.name, model->config.tied_head, weight.spec.format, weight.spec.in_features);
    weight.spec.format = form.format;
    weight.tile = form.tile;
  }
  return FoldBiases(std::move(graph));
}

absl::StatusOr<const DeviceProfile*> CosterCache::ProfileOf(const std::string& device) const {
  const auto found = profiles_.find(device);
  if (found == profiles_.end()) return absl::NotFoundError(absl::StrCat("device: found ", device, ", expected one of the profiles"));
  return &found->second;
}

absl::StatusOr<const PassCoster*> CosterCache::Of(const Question& question) {
  const std::string key = absl::StrCat(question.device, " ", question.style, " ", question.shape, " ", question.recipe, " ",
                                       question.context, " ", question.most_rows, " ", question.adapter_rank);
  if (const auto found = costers_.find(key); found != costers_.end()) return &found->second;
  ASSIGN_OR_RETURN(const DeviceProfile* const profile, ProfileOf(question.device));
  ASSIGN_OR_RETURN(const ExecutionStyle style, ExecutionStyleByName(question.style));
  ASSIGN_OR_RETURN(const WeightRecipe recipe, WeightRecipe::Parse(question.recipe));
  ASSIGN_OR_RETURN(const KnownModels::Model* const model, models_.Of(question.shape));
  const PassCoster::Options options = {
      .style = style, .context = question.context, .most_rows = question.most_rows, .adapter_rank = question.adapter_rank};
  ASSIGN_OR_RETURN(PassCoster coster, PassCoster::Create(model->config, model->layout, recipe, *profile, options));
  return &costers_.emplace(key, std::move(coster)).first->second;
}

}  // namespace tessera
