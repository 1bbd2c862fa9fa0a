#include "tessera/apps/common/dry_run.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

absl::StatusOr<int64_t> CacheBytes(const ModelConfig& config, int64_t context, KvFormat format) {
  ASSIGN_OR_RETURN(const int64_t slots, CheckedAlignUp(context, KvView::kSlotsPerBlock));
  const int64_t row = KvView::KeyBytes(format, config.kv_heads, config.head_size, 1) +
                      KvView::ValueBytes(format, config.kv_heads, config.head_size, 1);
  ASSIGN_OR_RETURN(const int64_t layer, CheckedMul(row, slots));
  return CheckedMul(layer, static_cast<int64_t>(config.layers.size()));
}

}  // namespace

absl::StatusOr<LoadPlan> PlanLoad(const EngineOptions& options) {
  const bool reference = options.path == ComputePath::kReference;
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(options.model_path));
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(*file));
  ASSIGN_OR_RETURN(const WeightLayout layout,
                   WeightLayout::Plan(*file, config, reference ? WeightEncoding::kFloat32 : WeightEncoding::kPacked));
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(options.kernels));
  LoadPlan plan;
  plan.model = options.model_path;
  plan.architecture = config.architecture;
  plan.layers = static_cast<int>(config.layers.size());
  plan.weight_units = layout.units();
  plan.weight_bytes = layout.TotalBytes();
  plan.trained_context = config.context_length;
  ASSIGN_OR_RETURN(plan.context, ContextOf(options, config));
  ASSIGN_OR_RETURN(plan.cache_bytes, CacheBytes(config, plan.context, reference ? KvFormat::kFloat : KvFormat::kHalf));
  ASSIGN_OR_RETURN(plan.threads, ThreadsOf(options));
  plan.path = reference ? "reference" : "fast";
  plan.kernels = reference ? "none" : std::string(KernelPathName(kernels));
  return plan;
}

std::string PlanText(const LoadPlan& plan) {
  Table table({{"what"}, {"value"}});
  table.AddRow({"model", plan.model});
  table.AddRow({"architecture", plan.architecture});
  table.AddRow({"layers", absl::StrCat(plan.layers)});
  table.AddRow({"weights", absl::StrCat(FormatByteSize(plan.weight_bytes), " in ", plan.weight_units, " units")});
  table.AddRow({"keys and values", absl::StrCat(FormatByteSize(plan.cache_bytes), " when the context is full")});
  table.AddRow({"context", absl::StrCat(plan.context, " tokens (trained for ", plan.trained_context, ")")});
  table.AddRow({"threads", absl::StrCat(plan.threads)});
  table.AddRow({"path", plan.path});
  table.AddRow({"kernels", plan.kernels});
  return table.ToString();
}

std::string PlanJson(const LoadPlan& plan) {
  JsonWriter json(2);
  json.BeginObject();
  json.Key("model").String(plan.model);
  json.Key("architecture").String(plan.architecture);
  json.Key("layers").Int(plan.layers);
  json.Key("weight_bytes").Int(plan.weight_bytes);
  json.Key("weight_units").Int(plan.weight_units);
  json.Key("cache_bytes").Int(plan.cache_bytes);
  json.Key("context").Int(plan.context);
  json.Key("trained_context").Int(plan.trained_context);
  json.Key("threads").Int(plan.threads);
  json.Key("path").String(plan.path);
  json.Key("kernels").String(plan.kernels);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera
