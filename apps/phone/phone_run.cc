#include "tessera/apps/phone/phone_run.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/phone/phone_report.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/weight_recipe.h"

namespace tessera {

namespace {

absl::StatusOr<WeightRecipe> RecipeOf(const std::string& text) {
  absl::StatusOr<WeightRecipe> recipe = WeightRecipe::Parse(text);
  RETURN_IF_ERROR(ForField("recipe", recipe.status()));
  return recipe;
}

// The path that computes; it is that of --path, if that is given.
absl::StatusOr<ComputePath> PathOfFlags(ComputePath given) {
  if (FLAGS_arithmetic != "npu" && FLAGS_arithmetic != "fast") return WrongUsage("arithmetic", FLAGS_arithmetic, "npu or fast");
  const ComputePath path = FLAGS_arithmetic == "fast" ? ComputePath::kFast : ComputePath::kNpu;
  if (!IsGiven("path") || given == path) return path;
  return WrongUsage("path", absl::StrCat(FLAGS_path, " with --arithmetic=", FLAGS_arithmetic), ComputePathName(path));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PhoneRun>> PhoneRun::OfFlags(EngineOptions& options) {
  if (FLAGS_device.empty()) {
    if (IsGiven("arithmetic")) return WrongUsage("arithmetic", "without --device", "both");
    return nullptr;
  }
  ASSIGN_OR_RETURN(options.compute.path, PathOfFlags(options.compute.path));
  const bool fast = options.compute.path == ComputePath::kFast;
  absl::StatusOr<Phone> phone = PhoneOf(FLAGS_device);
  RETURN_IF_ERROR(ForField("device", phone.status()));
  const ExecutionStyle& style = phone->style;
  const std::string recipe_text = options.compute.recipe.empty() ? RecipeOfStyle(style) : options.compute.recipe;
  ASSIGN_OR_RETURN(const WeightRecipe recipe, RecipeOf(recipe_text));
  ModeledDevice::Options modeled = {.profile = phone->profile, .style = style};
  if (fast) {
    modeled.tile_of = [recipe](const GraphWeight& weight) {
      return recipe.FormOf(weight.spec.name, /*tied_head=*/weight.spec.name == "token_embd.weight", weight.spec.format).tile;
    };
  }
  options.compute.recipe = fast ? "" : recipe_text;
  if (style.static_graphs) {
    if (options.cache.context == 0) options.cache.context = modeled.context;
    modeled.context = options.cache.context;
    options.compute.graph_rows = {1, 32, ChunkRowsOfStyle(style)};
  }
  if (options.compute.row_capacity == 0) options.compute.row_capacity = ChunkRowsOfStyle(style);
  std::unique_ptr<PhoneRun> run(new PhoneRun(std::move(modeled)));
  options.clock = &run->clock_;
  options.compute.wrap_device = [phone = run.get()](std::unique_ptr<Device> made) -> absl::StatusOr<std::unique_ptr<Device>> {
    phone->numbers_ = std::move(made);
    auto device = std::make_unique<ModeledDevice>(*phone->numbers_, phone->clock_, phone->options_);
    phone->device_ = device.get();
    return device;
  };
  return run;
}

std::string PhoneRun::Summary() const {
  if (device_ == nullptr) return "";
  const ModeledDevice::Spent& spent = device_->spent();
  std::string parts;
  for (int part = 0; part < kBounds; ++part) {
    absl::StrAppend(&parts, part == 0 ? "" : ", ", BoundName(static_cast<Bound>(part)), absl::StrFormat(" %.3f s", spent.seconds[part]));
  }
  return absl::StrFormat("phone: %s, %s, %.6f s in %d runs; busy: %s; %.1f MiB read, %.3f J by assumed powers\n", device_->profile().name,
                         options_.style.name, static_cast<double>(clock_.NowNanos()) * 1e-9, spent.runs, parts,
                         static_cast<double>(spent.read_bytes) / 1048576.0, spent.joules);
}

}  // namespace tessera
