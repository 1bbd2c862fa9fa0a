#include "tessera/apps/lab/papers/onemodel/onemodel_costs.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/model/lora.h"

namespace tessera {
namespace {

constexpr char kStyle[] = "static";
constexpr int kAdapterNumberBytes = 2;
constexpr LoraTarget kTargets[] = {LoraTarget::kQuery, LoraTarget::kKey, LoraTarget::kValue, LoraTarget::kOutput};

bool IsAdapted(const GraphWeight& weight) {
  return std::any_of(std::begin(kTargets), std::end(kTargets), [&](LoraTarget target) {
    return !weight.vector && absl::StartsWith(weight.spec.name, LoraTargetName(target)) && absl::EndsWith(weight.spec.name, ".weight");
  });
}

// Returns the layer with placeholders at the target products alone.
Graph WithAdaptersAtTargets(Graph layer) {
  for (Operator& op : layer.operators) {
    auto* const linear = std::get_if<Linear>(&op);
    if (linear == nullptr) continue;
    for (Product& product : linear->products) {
      if (!IsAdapted(layer.weights[static_cast<size_t>(product.weight)])) product.adapter = kNone;
    }
  }
  return layer;
}

double LayersOf(const ModelConfig& config) { return static_cast<double>(config.layers.size()); }

}  // namespace

std::string AdapterWayName(AdapterWay way) { return absl::StrCat(LoraModeName(way.mode), way.together ? " together" : ""); }

absl::StatusOr<const PassCoster*> OnemodelCosts::CosterOf(const std::string& phone, const OnemodelShape& model) {
  return costers_.Of({.device = phone,
                      .style = kStyle,
                      .shape = model.shape,
                      .recipe = kOnemodelRecipe,
                      .context = model.context,
                      .most_rows = model.chunk_rows});
}

absl::StatusOr<double> OnemodelCosts::PassSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows) {
  ASSIGN_OR_RETURN(const PassCoster* const coster, CosterOf(phone, model));
  ASSIGN_OR_RETURN(const PassCost pass, coster->Of({.rows = rows, .positions = model.context, .logit_rows = rows}));
  return pass.seconds;
}

absl::StatusOr<double> OnemodelCosts::PromptSeconds(const std::string& phone, const OnemodelShape& model, int chunks) {
  ASSIGN_OR_RETURN(const PassCoster* const coster, CosterOf(phone, model));
  ASSIGN_OR_RETURN(const PassCost prompt, coster->OfPrompt(chunks * model.chunk_rows, model.chunk_rows));
  return prompt.seconds;
}

absl::StatusOr<double> OnemodelCosts::AdapterSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows,
                                                     const AdapterForm& form) {
  ASSIGN_OR_RETURN(const ModelConfig* const config, costers_.ConfigOf(model.shape));
  ASSIGN_OR_RETURN(const DeviceProfile* const profile, costers_.ProfileOf(phone));
  ASSIGN_OR_RETURN(const ExecutionStyle style, ExecutionStyleByName(kStyle));
  ASSIGN_OR_RETURN(const Graph whole, costers_.LayerGraphOf(model.shape, kOnemodelRecipe));
  Graph layer = WithAdaptersAtTargets(whole);
  layer.form.split_adapters = form.split;
  CostSetting setting = {.profile = *profile, .style = style, .rows = rows, .positions = model.context};
  ASSIGN_OR_RETURN(const GraphCost without, CostOfGraph(layer, setting));
  setting.adapter_rank = form.rank;
  setting.masks_adapters = form.masked;
  ASSIGN_OR_RETURN(const GraphCost with, CostOfGraph(layer, setting));
  return LayersOf(*config) * (with.seconds - without.seconds);
}

absl::StatusOr<double> OnemodelCosts::AdaptedPassSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows, bool split) {
  ASSIGN_OR_RETURN(const double pass, PassSeconds(phone, model, rows));
  ASSIGN_OR_RETURN(const double adapter, AdapterSeconds(phone, model, rows, {.rank = assumed_.adapter_rank, .split = split}));
  return pass + adapter;
}

absl::StatusOr<double> OnemodelCosts::AdaptedPromptSeconds(const std::string& phone, const OnemodelShape& model, int chunks, bool split) {
  ASSIGN_OR_RETURN(const double prompt, PromptSeconds(phone, model, chunks));
  ASSIGN_OR_RETURN(const double adapter, AdapterSeconds(phone, model, model.chunk_rows, {.rank = assumed_.adapter_rank, .split = split}));
  return prompt + chunks * adapter;
}

absl::StatusOr<int64_t> OnemodelCosts::AdapterBytes(const OnemodelShape& model) {
  ASSIGN_OR_RETURN(const ModelConfig* const config, costers_.ConfigOf(model.shape));
  int64_t numbers = 0;
  for (const LoraTarget target : kTargets) {
    const LoraShape shape = LoraShapeOf(*config, target);
    numbers += (shape.in + shape.out) * assumed_.adapter_rank;
  }
  return numbers * static_cast<int64_t>(config->layers.size()) * kAdapterNumberBytes;
}

absl::StatusOr<int64_t> OnemodelCosts::HalfBytes(const OnemodelShape& model) {
  constexpr int64_t kHalf = 2;
  ASSIGN_OR_RETURN(const ModelConfig* const config, costers_.ConfigOf(model.shape));
  int64_t numbers = 0;
  for (const TensorNeed& need : AllNeeds(*config)) numbers += need.rows * need.columns;
  return numbers * kHalf;
}

absl::StatusOr<int64_t> OnemodelCosts::AdaptedMatrixBytes(const OnemodelShape& model) {
  constexpr int64_t kTile = 32;
  ASSIGN_OR_RETURN(const ModelConfig* const config, costers_.ConfigOf(model.shape));
  ASSIGN_OR_RETURN(const Graph layer, costers_.LayerGraphOf(model.shape, kOnemodelRecipe));
  int64_t bytes = 0;
  for (const GraphWeight& weight : layer.weights) {
    if (!IsAdapted(weight) || !weight.tile.has_value()) continue;
    bytes += CeilDiv(weight.spec.in_features, kTile) * CeilDiv(weight.spec.out_features, kTile) * TileBytes(*weight.tile);
  }
  return bytes * static_cast<int64_t>(config->layers.size());
}

absl::Status OnemodelCosts::AddAdapters(const OnemodelShape& model, int pairs, const AdapterForm& form, OnemodelSetup& setup) {
  ASSIGN_OR_RETURN(const double chunk, AdapterSeconds(setup.phone, model, model.chunk_rows, form));
  ASSIGN_OR_RETURN(const double row, AdapterSeconds(setup.phone, model, 1, form));
  setup.chunk_seconds += pairs * chunk;
  setup.first_token_seconds += pairs * assumed_.prompt_chunks * chunk;
  setup.token_seconds += pairs * row;
  return absl::OkStatus();
}

absl::Status OnemodelCosts::AddWay(const OnemodelShape& model, OnemodelSetup& setup) {
  ASSIGN_OR_RETURN(const int64_t adapter, AdapterBytes(model));
  ASSIGN_OR_RETURN(const int64_t merged, AdaptedMatrixBytes(model));
  const int rank = assumed_.adapter_rank;
  switch (setup.way.mode) {
    case LoraMode::kInput:
      setup.adapter_bytes = setup.tasks * adapter;
      return AddAdapters(model, 1, {.rank = rank}, setup);
    case LoraMode::kMask: {
      setup.graph_bytes += setup.tasks * adapter;
      const int pairs = setup.way.together ? 1 : setup.tasks;
      return AddAdapters(model, pairs, {.rank = setup.tasks / pairs * rank, .masked = true}, setup);
    }
    case LoraMode::kGraph:
      setup.graphs *= setup.tasks;
      setup.graph_bytes += (setup.tasks - 1) * merged;
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::StatusOr<OnemodelSetup> OnemodelCosts::SetupOf(const std::string& phone, const OnemodelShape& model, AdapterWay way, int tasks) {
  ASSIGN_OR_RETURN(const DeviceProfile* const profile, costers_.ProfileOf(phone));
  ASSIGN_OR_RETURN(const PassCoster* const coster, CosterOf(phone, model));
  const PhoneMemory& memory = coster->memory();
  OnemodelSetup setup = {.phone = phone,
                         .shape = model.shape,
                         .way = way,
                         .tasks = tasks,
                         .graph_bytes = memory.weights,
                         .other_bytes = memory.total() - memory.weights};
  ASSIGN_OR_RETURN(setup.chunk_seconds, PromptSeconds(phone, model, 1));
  ASSIGN_OR_RETURN(setup.first_token_seconds, PromptSeconds(phone, model, assumed_.prompt_chunks));
  ASSIGN_OR_RETURN(setup.token_seconds, PassSeconds(phone, model, 1));
  RETURN_IF_ERROR(AddWay(model, setup));
  const double loaded = static_cast<double>(setup.graph_bytes + setup.adapter_bytes);
  setup.load_seconds = profile->load_seconds + loaded / profile->load_bytes_per_second;
  const int64_t most = std::max(int64_t{1}, static_cast<int64_t>(profile->session_bytes));
  setup.sessions = CeilDiv(setup.peak_bytes() - memory.cpu_weights, most);
  return setup;
}

}  // namespace tessera
