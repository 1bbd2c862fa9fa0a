#include "tessera/model/files/weights.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/check_finite.h"
#include "tessera/model/files/internal/tensor_check.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr int64_t kAlignment = 64;  // Alignment of each part in its unit.
constexpr int64_t kLargestTotal = int64_t{1} << 42;  // Twice the largest known models; bounds the memory of the plan.

}  // namespace

// Gives tensors their places, one after the other.
class LayoutPlanner {
 public:
  LayoutPlanner(const GgufFile& file, WeightEncoding encoding, int64_t largest_unit)
      : file_(file), largest_unit_(largest_unit) {
    layout_.encoding_ = encoding;
  }

  // The next tensor begins a new unit: a layer's units hold nothing of another layer.
  void BeginUnit() { begin_unit_ = true; }

  // bias: cut as the matrix is, each part beside that of the matrix.
  absl::Status Place(const TensorNeed& need, const TensorNeed* bias = nullptr) {
    ASSIGN_OR_RETURN(const GgufTensor* tensor, FindNeeded(file_, need));
    if (bias != nullptr) RETURN_IF_ERROR(FindNeeded(file_, *bias).status());
    GraphWeight weight = {{need.label, need.vector ? BlockFormat::kF32 : tensor->format->format, need.rows, need.columns}, need.vector};
    ASSIGN_OR_RETURN(const int64_t bytes, WeightBytes(weight, layout_.encoding_));
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
  static int64_t BytesOfBias(const TensorNeed* bias, int64_t rows) {
    return bias == nullptr ? 0 : AlignUp(rows * static_cast<int64_t>(sizeof(float)), kAlignment);
  }

  // Equal ranges of rows, each at most a unit.
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

  // Rows of a tensor, and as many numbers of its bias in the same unit, if a unit can hold both. No unit gets two parts of the bias.
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
  const int64_t largest_unit_;
  bool begin_unit_ = false;
  WeightLayout layout_;
};

absl::StatusOr<WeightLayout> WeightLayout::Plan(const GgufFile& file, const ModelConfig& config, WeightEncoding encoding,
                                                int64_t largest_unit) {
  RETURN_IF_ERROR(CheckTensors(file, config).FirstProblem());
  LayoutPlanner planner(file, encoding, largest_unit);
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
  const auto bytes_of = [&](int64_t count) {  // These rows are a part of a planned tensor, so no size can be wrong.
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

namespace {

constexpr int64_t kReadAtOnce = int64_t{256} << 10;  // Bytes of a file, few enough that they are packed while the caches hold them.

// Reads the blocks that hold a vector's numbers from part.first_row on, and widens these.
absl::Status FillVector(const GgufFile& file, const GgufTensor& tensor, const TensorPart& part, std::vector<std::byte>& buffer,
                        absl::Span<std::byte> out) {
  const BlockFormatInfo& format = *tensor.format;
  const int64_t count = part.weight.spec.in_features, before = part.first_row % format.values_per_block;
  const int64_t blocks = CeilDiv(before + count, format.values_per_block);
  const int64_t begin = part.first_row / format.values_per_block * format.bytes_per_block;
  buffer.resize(static_cast<size_t>(blocks * format.bytes_per_block));
  RETURN_IF_ERROR(file.Read(tensor, begin, absl::MakeSpan(buffer)));
  RETURN_IF_ERROR(CheckFinite(file, tensor, begin, buffer));
  std::vector<float> numbers(static_cast<size_t>(blocks * format.values_per_block));
  format.dequantize(buffer.data(), blocks * format.values_per_block, numbers.data());
  std::copy_n(numbers.begin() + before, count, reinterpret_cast<float*>(out.data()));
  return absl::OkStatus();
}

// Reads a part of a tensor, some rows at a time (whole panels), and writes them in the encoding.
absl::Status FillPart(const GgufFile& file, const GgufTensor& tensor, const TensorPart& part, WeightEncoding encoding,
                      std::vector<std::byte>& buffer, absl::Span<std::byte> out) {
  if (part.weight.vector) return FillVector(file, tensor, part, buffer, out);
  GraphWeight piece = part.weight;
  const int64_t rows = piece.spec.out_features, columns = piece.spec.in_features;
  const BlockFormatInfo& format = *tensor.format;
  ASSIGN_OR_RETURN(const int64_t row_bytes, BytesOfRows(format.format, 1, columns));
  const int64_t rows_at_once = std::max<int64_t>(1, kReadAtOnce / row_bytes / kRowsPerPanel) * kRowsPerPanel;
  for (int64_t row = 0; row < rows; row += rows_at_once) {
    piece.spec.out_features = std::min(rows_at_once, rows - row);
    buffer.resize(piece.spec.out_features * row_bytes);
    RETURN_IF_ERROR(file.Read(tensor, (part.first_row + row) * row_bytes, absl::MakeSpan(buffer)));
    RETURN_IF_ERROR(CheckFinite(file, tensor, (part.first_row + row) * row_bytes, buffer));
    ASSIGN_OR_RETURN(const int64_t size, WeightBytes(piece, encoding));
    if (encoding == WeightEncoding::kFloat32) {
      format.dequantize(buffer.data(), piece.spec.out_features * columns, reinterpret_cast<float*>(out.data()));
    } else {
      RETURN_IF_ERROR(PackedMatrix::Pack(piece.spec, buffer, out.first(size)));
    }
    out.remove_prefix(size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FillUnit(const GgufFile& file, const WeightLayout& layout, int unit, absl::Span<std::byte> out) {
  std::vector<std::byte> buffer;
  for (const auto& [name, part] : layout.PartsOfUnit(unit)) {
    const GgufTensor& tensor = *file.FindTensor(*name);
    RETURN_IF_ERROR(FillPart(file, tensor, *part, layout.encoding(), buffer, out.subspan(part->offset, part->bytes)));
  }
  return file.CheckUnchanged();
}

absl::StatusOr<std::unique_ptr<ResidentSource>> LoadResident(const GgufFile& file, const WeightLayout& layout, ThreadPool& pool) {
  std::vector<int64_t> unit_bytes;
  for (int unit = 0; unit < layout.units(); ++unit) unit_bytes.push_back(layout.UnitBytes(unit));
  absl::StatusOr<std::unique_ptr<ResidentSource>> created = ResidentSource::Create(unit_bytes);
  if (!created.ok()) return absl::Status(created.status().code(), absl::StrCat(file.path(), ": weights: ", created.status().message()));
  std::unique_ptr<ResidentSource> source = *std::move(created);
  std::vector<int> order(layout.units());  // Largest first, so that no thread is left with a large unit at the end.
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return layout.UnitBytes(a) > layout.UnitBytes(b); });
  std::vector<absl::Status> statuses(layout.units());
  std::atomic<int> next = 0;
  pool.Run([&](int) {
    for (int i = next++; i < layout.units(); i = next++) {
      statuses[order[i]] = OrOutOfMemory([&] { return FillUnit(file, layout, order[i], source->Unit(order[i])); });
    }
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return source;
}

}  // namespace tessera
