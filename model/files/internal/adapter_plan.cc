#include "tessera/model/files/internal/adapter_plan.h"

#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

// Returns the shape of the model's matrix.
TensorNeed NeedOf(const ModelConfig& config, int layer, int matrix) {
  const std::string label = absl::StrCat(kAdapterTargets[matrix].gguf, ".weight");
  for (TensorNeed& need : LayerNeeds(config, layer)) {
    if (need.label == label) return std::move(need);
  }
  return {.name = label, .rows = 0, .columns = 0};   // No size fits.
}

}  // namespace

int LayerNumber(absl::string_view text) {
  int number = 0;
  const bool digits = !text.empty() && text.size() <= 9 && absl::c_all_of(text, absl::ascii_isdigit);
  if (!digits || (text.size() > 1 && text[0] == '0') || !absl::SimpleAtoi(text, &number)) return -1;
  return number;
}

absl::Status AdapterPlan::WrongTensor(absl::string_view tensor, absl::string_view problem) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": tensor ", Quoted(tensor), ": ", problem));
}

absl::Status AdapterPlan::Add(AdapterHalf half) {
  const int layers = static_cast<int>(config_.layers.size());
  if (half.layer >= layers) {
    return WrongTensor(half.tensor, absl::StrCat("found layer ", half.layer, ", expected 0 to ", layers - 1, ", the layers of the model"));
  }
  Place& place = places_[{half.layer, half.matrix}];
  AdapterHalf& kept = half.is_b ? place.b : place.a;
  if (!kept.tensor.empty()) return WrongTensor(half.tensor, absl::StrCat("found ", Quoted(kept.tensor), ", too, expected one of them"));
  kept = std::move(half);
  return absl::OkStatus();
}

absl::Status AdapterPlan::CheckPlace(const Place& place) const {
  const auto& [a, b] = place;
  if (a.tensor.empty() || b.tensor.empty()) {
    const bool only_b = a.tensor.empty();
    return WrongTensor(only_b ? b.tensor : a.tensor, absl::StrCat("found no ", only_b ? "A" : "B", " beside it, expected both A and B"));
  }
  const auto wrong = [&](const AdapterHalf& half, absl::string_view expected) {
    return WrongTensor(half.tensor, absl::StrCat("found ", half.rows, " x ", half.columns, ", expected ", expected));
  };
  const TensorNeed need = NeedOf(config_, a.layer, a.matrix);
  if (a.rows < 1 || a.rows > kMostAdapterRank) return wrong(a, absl::StrCat("a rank of 1 to ", kMostAdapterRank, ", its rows"));
  if (a.columns != need.columns) return wrong(a, absl::StrCat(a.rows, " x ", need.columns, ", the inputs of ", need.name));
  if (b.rows != need.rows) return wrong(b, absl::StrCat(need.rows, " x ", a.rows, ", the outputs of ", need.name));
  if (a.module != b.module) {
    return WrongTensor(b.tensor, absl::StrCat("found module ", Quoted(b.module), ", expected ", Quoted(a.module), ", that of its A"));
  }
  if (b.columns != a.rows) return wrong(b, absl::StrCat(need.rows, " x ", a.rows, ", the rank of ", Quoted(a.tensor)));
  return absl::OkStatus();
}

absl::Status AdapterPlan::Check() const {
  if (places_.empty()) return absl::InvalidArgumentError(absl::StrCat(path_, ": found no A and B, expected those of one matrix or more"));
  for (const auto& [key, place] : places_) RETURN_IF_ERROR(CheckPlace(place));
  return absl::OkStatus();
}

std::vector<AdapterPlan::Place> AdapterPlan::places() const {
  std::vector<Place> places;
  for (const auto& [key, place] : places_) places.push_back(place);
  return places;
}

absl::StatusOr<AdapterPair> AdapterPlan::PairOf(const Place& place, double scale) const {
  AdapterPair pair;
  pair.layer = place.a.layer;
  pair.matrix = kAdapterTargets[place.a.matrix].gguf;
  pair.rank = static_cast<int>(place.a.rows);
  if (std::fabs(scale) <= std::numeric_limits<float>::max()) {
    pair.scale = static_cast<float>(scale);
    return pair;
  }
  return WrongTensor(place.a.tensor, absl::StrCat("found a scale of ", scale, ", expected one that is finite in FP32"));
}

AdapterNumbers::AdapterNumbers(const AdapterFile& shapes, absl::Span<const Source> sources, size_t tensors)
    : pairs_(shapes.pairs), halves_(tensors), whole_(sources.size()) {
  for (size_t i = 0; i < sources.size(); ++i) {
    halves_[sources[i].a] = {.pair = i, .is_b = false};
    halves_[sources[i].b] = {.pair = i, .is_b = true};
  }
}

AdapterMatrix* AdapterNumbers::Take(size_t tensor, int64_t size, absl::Span<const std::byte> bytes) {
  AdapterMatrix& matrix = MatrixOf(halves_[tensor]);
  if (matrix.bytes.empty()) matrix.bytes.reserve(static_cast<size_t>(size));
  matrix.bytes.insert(matrix.bytes.end(), bytes.begin(), bytes.end());
  if (matrix.bytes.size() < static_cast<size_t>(size)) return nullptr;
  ++whole_[halves_[tensor].pair];
  return &matrix;
}

std::optional<size_t> AdapterNumbers::WholeBy(size_t tensor) const {
  const size_t pair = halves_[tensor].pair;
  return whole_[pair] == 2 ? std::optional<size_t>(pair) : std::nullopt;
}

absl::Status CheckAdapterMark(const std::string& place, uint64_t mark, const MarkedModel& model) {
  const absl::StatusOr<uint32_t> of_model = model.Vectors();
  if (!of_model.ok()) {
    return absl::Status(of_model.status().code(), absl::StrCat(place, ": the model has none: ", of_model.status().message()));
  }
  if (mark == *of_model) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(place, ": found ", mark, ", expected ", *of_model, ", the mark of ", model.path(),
                                                 ": the adapter was trained for another model"));
}

}  // namespace tessera
