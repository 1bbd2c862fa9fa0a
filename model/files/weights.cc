#include "tessera/model/files/weights.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/tensor_check.h"
#include "tessera/model/files/internal/unit_filler.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr int64_t kAlignment = 64;  // Alignment of each part in its unit.
constexpr int64_t kLargestTotal = int64_t{1} << 42;  // Twice the largest known models; bounds the memory of the plan.

}  // namespace

// Gives tensors places, one after the other.
class LayoutPlanner {
 public:
  LayoutPlanner(const GgufFile& file, const ModelConfig& config, WeightEncoding encoding, const WeightRecipe& recipe, int64_t largest_unit)
      : file_(file), tied_head_(config.tied_head), largest_unit_(largest_unit) {
    layout_.encoding_ = encoding;
    layout_.recipe_ = recipe;
  }

  // The next tensor begins a new unit: a layer's units hold nothing of another layer.
  void BeginUnit() { begin_unit_ = true; }

  // bias: cut like the matrix, each part next to the part of the matrix.
  absl::Status Place(const TensorNeed& need, const TensorNeed* bias = nullptr) {
    ASSIGN_OR_RETURN(const GgufTensor* tensor, FindNeeded(file_, need));
    if (bias != nullptr) RETURN_IF_ERROR(FindNeeded(file_, *bias).status());
    const GraphWeight weight = Formed(need, *tensor);
    const absl::StatusOr<int64_t> held = WeightBytes(weight, layout_.encoding_);
    if (!held.ok()) return CannotHold(*tensor, weight, held.status());
    const int64_t bytes = *held;
    if (bytes > kLargestTotal - layout_.total_bytes_) {
      return absl::InvalidArgumentError(absl::StrCat(file_.PathOf(*tensor), ": tensor ", need.name, ": size as loaded: found ", bytes,
                                                     " bytes after ", layout_.total_bytes_,
                                                     " of the tensors before it, expected at most ", kLargestTotal, " in all"));
    }
    if (need.vector || AlignUp(bytes, kAlignment) + BytesOfBias(bias, need.rows) <= largest_unit_) {
      return AppendRows(need, weight, 0, bias);
    }
    return PlaceInParts(need, weight, bias);
  }

  WeightLayout Take() { return std::move(layout_); }

 private:
  GraphWeight Formed(const TensorNeed& need, const GgufTensor& tensor) const {
    GraphWeight weight = {{need.label, BlockFormat::kF32, need.rows, need.columns}, need.vector};
    if (need.vector) return weight;
    const WeightForm form = layout_.recipe_.FormOf(need.name, tied_head_, tensor.format->format, need.columns);
    weight.tile = form.tile;
    if (!form.tile.has_value()) weight.spec.format = form.format;
    return weight;
  }

  // Names the form if the recipe chose the form.
  absl::Status CannotHold(const GgufTensor& tensor, const GraphWeight& weight, const absl::Status& status) const {
    if (!weight.tile.has_value() && weight.spec.format == tensor.format->format) return status;
    const std::string form = weight.tile.has_value() ? TileSchemeName(*weight.tile) : InfoOf(weight.spec.format).name;
    return absl::Status(status.code(),
                        absl::StrCat(file_.PathOf(tensor), ": tensor ", tensor.name, " as ", form, ": ", status.message()));
  }

  static int64_t BytesOfBias(const TensorNeed* bias, int64_t rows) {
    return bias == nullptr ? 0 : AlignUp(rows * static_cast<int64_t>(sizeof(float)), kAlignment);
  }

  // Places equal ranges of rows, each at most a unit.
  absl::Status PlaceInParts(const TensorNeed& need, GraphWeight weight, const TensorNeed* bias) {
    weight.spec.out_features = std::min<int64_t>(kRowsPerPanel, need.rows);
    ASSIGN_OR_RETURN(const int64_t panel_bytes, WeightBytes(weight, layout_.encoding_));
    const int64_t panels = CeilDiv(need.rows, kRowsPerPanel);
    const int64_t bytes_of_panel = AlignUp(panel_bytes, kAlignment) + BytesOfBias(bias, kRowsPerPanel);
    const int64_t panels_per_unit = std::max<int64_t>(1, largest_unit_ / bytes_of_panel);
    const int64_t rows_per_part = CeilDiv(panels, CeilDiv(panels, panels_per_unit)) * kRowsPerPanel;
    for (int64_t row = 0; row < need.rows; row += rows_per_part) {
      weight.spec.out_features = std::min(rows_per_part, need.rows - row);
      RETURN_IF_ERROR(AppendRows(need, weight, row, bias));
    }
    return absl::OkStatus();
  }

  // Appends rows of a tensor, and as many numbers of the tensor's bias in the same unit, if a unit can hold both. No unit gets two parts of
  // the bias.
  absl::Status AppendRows(const TensorNeed& need, const GraphWeight& weight, int64_t first_row, const TensorNeed* bias) {
    ASSIGN_OR_RETURN(const int64_t bytes, WeightBytes(weight, layout_.encoding_));
    const int64_t together = AlignUp(bytes, kAlignment) + BytesOfBias(bias, weight.spec.out_features);
    if (bias != nullptr && (first_row > 0 || layout_.unit_bytes_.back() + together > largest_unit_)) BeginUnit();
    Append(need.name, weight, first_row, bytes);
    if (bias == nullptr) return absl::OkStatus();
    const GraphWeight numbers = {{bias->label, BlockFormat::kF32, 1, weight.spec.out_features}, /*vector=*/true};
    ASSIGN_OR_RETURN(const int64_t bias_bytes, WeightBytes(numbers, layout_.encoding_));
    Append(bias->name, numbers, first_row, bias_bytes);
    return absl::OkStatus();
  }

  void Append(const std::string& name, const GraphWeight& weight, int64_t first_row, int64_t bytes) {
    layout_.total_bytes_ += AlignUp(bytes, kAlignment);
    std::vector<int64_t>& units = layout_.unit_bytes_;
    if (begin_unit_ || units.empty() || (units.back() > 0 && units.back() + AlignUp(bytes, kAlignment) > largest_unit_)) {
      units.push_back(0);
      layout_.unit_parts_.emplace_back();
    }
    begin_unit_ = false;
    std::vector<TensorPart>& parts = layout_.parts_[name];
    layout_.unit_parts_.back().push_back({name, parts.size()});
    parts.push_back({static_cast<int>(units.size()) - 1, units.back(), bytes, first_row, weight});
    units.back() += AlignUp(bytes, kAlignment);
  }

  const GgufFile& file_;
  const bool tied_head_;
  const int64_t largest_unit_;
  bool begin_unit_ = false;
  WeightLayout layout_;
};

absl::StatusOr<WeightLayout> WeightLayout::Plan(const GgufFile& file, const ModelConfig& config, WeightEncoding encoding,
                                                const WeightRecipe& recipe, int64_t largest_unit) {
  CHECK(encoding == WeightEncoding::kTiles || !recipe.has_tiles()) << "recipe " << recipe.text();
  RETURN_IF_ERROR(CheckTensors(file, config).FirstProblem());
  if (const absl::Status fits = recipe.CheckFor(config.tied_head); !fits.ok()) {
    return absl::Status(fits.code(), absl::StrCat(file.path(), ": recipe: ", fits.message()));
  }
  LayoutPlanner planner(file, config, encoding, recipe, largest_unit);
  if (!config.tied_head) RETURN_IF_ERROR(planner.Place(EmbeddingNeed(config)));
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    planner.BeginUnit();
    for (const TensorNeed& need : LayerNeeds(config, layer)) RETURN_IF_ERROR(planner.Place(need));
  }
  planner.BeginUnit();
  RETURN_IF_ERROR(planner.Place(OutputNormNeed(config)));
  const TensorNeed bias = HeadBiasNeed(config);
  RETURN_IF_ERROR(planner.Place(HeadNeed(config), config.head_bias ? &bias : nullptr));
  return planner.Take();
}

absl::Span<const TensorPart> WeightLayout::Parts(absl::string_view tensor) const {
  const auto found = parts_.find(tensor);
  if (found == parts_.end()) return {};
  return found->second;
}

TensorPart WeightLayout::PanelOf(absl::string_view tensor, int64_t row) const {
  const absl::Span<const TensorPart> parts = Parts(tensor);
  const auto after =
      std::upper_bound(parts.begin(), parts.end(), row, [](int64_t r, const TensorPart& part) { return r < part.first_row; });
  CHECK(after != parts.begin()) << "tensor " << tensor << ": row " << row;
  TensorPart panel = *std::prev(after);
  const int64_t before = (row - panel.first_row) / kRowsPerPanel * kRowsPerPanel, rows = panel.weight.spec.out_features - before;
  CHECK(rows > 0 && !panel.weight.vector) << "tensor " << tensor << ": row " << row;
  const auto bytes_of = [&](int64_t count) {  // The rows are a part of a planned tensor, so no size can be wrong.
    panel.weight.spec.out_features = count;
    return count == 0 ? 0 : WeightBytes(panel.weight, encoding_).value();
  };
  panel.offset += bytes_of(before);
  panel.first_row += before;
  panel.bytes = bytes_of(std::min<int64_t>(rows, kRowsPerPanel));
  return panel;
}

std::vector<WeightLayout::Placed> WeightLayout::PartsOfUnit(int unit) const {
  std::vector<Placed> placed;
  for (const auto& [tensor, part] : unit_parts_[unit]) placed.push_back({&tensor, &parts_.find(tensor)->second[part]});
  return placed;
}

absl::Status FillUnit(const GgufFile& file, const WeightLayout& layout, int unit, absl::Span<std::byte> out, const FillOptions& options) {
  return UnitFiller(file, layout, options).Fill(unit, out);
}

absl::StatusOr<std::unique_ptr<ResidentSource>> LoadResident(const GgufFile& file, const WeightLayout& layout, ThreadPool& pool,
                                                             const FillOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, RoomFor(layout, file.path()));
  std::vector<int64_t> sizes;
  for (int unit = 0; unit < layout.units(); ++unit) sizes.push_back(layout.UnitBytes(unit));
  UnitFiller filler(file, layout, options);
  RETURN_IF_ERROR(ForEachLargestFirst(sizes, pool, [&](int unit) { return filler.Fill(unit, source->Unit(unit)); }));
  return source;
}

}  // namespace tessera
