#include "tessera/model/load_adapter.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/device.h"

namespace tessera {
namespace {

static_assert(kMostAdapterRank == kLargestAdapterRank, "what a file may hold is what kernels take");

// REQUIRES: it is one of AdapterPair's names.
LoraTarget TargetOf(absl::string_view matrix) {
  int target = 0;
  while (LoraTargetName(static_cast<LoraTarget>(target)) != matrix) ++target;   // CHECKs that there is such a target.
  return static_cast<LoraTarget>(target);
}

template <typename Number>
void Transpose(const Number* numbers, int64_t rows, int64_t columns, Number* transposed) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) transposed[column * rows + row] = numbers[row * columns + column];
  }
}

bool KeepsItsBits(const AdapterPair& pair) {
  return pair.a.format == pair.b.format && InfoOf(pair.a.format).bytes_per_block == static_cast<int32_t>(sizeof(uint16_t));
}

// Takes the pair's bytes.
absl::Status SetPair(AdapterPair& pair, float scale, LoraAdapter& adapter) {
  const bool keeps_its_bits = KeepsItsBits(pair);
  const int target = static_cast<int>(TargetOf(pair.matrix));
  const AdapterMatrix b = std::move(pair.b);
  CHECK_EQ(static_cast<int64_t>(b.bytes.size()), b.rows * b.columns * InfoOf(b.format).bytes_per_block) << pair.matrix << ": not read";
  if (keeps_its_bits) {
    LoraNumbers numbers = {.in = pair.a.columns, .out = b.rows, .rank = pair.rank, .scale = scale, .format = pair.a.format,
                           .a = std::move(pair.a.bytes), .b = std::vector<std::byte>(b.bytes.size())};
    Transpose(reinterpret_cast<const uint16_t*>(b.bytes.data()), b.rows, b.columns, reinterpret_cast<uint16_t*>(numbers.b.data()));
    return adapter.SetNumbers(pair.layer, target, std::move(numbers));
  }
  const std::vector<float> b_floats = b.Floats();
  LoraMatrices matrices = {.in = pair.a.columns, .out = b.rows, .rank = pair.rank, .scale = scale, .a = pair.a.Floats(),
                           .b = std::vector<float>(b_floats.size())};
  Transpose(b_floats.data(), b.rows, b.columns, matrices.b.data());
  std::vector<std::byte>().swap(pair.a.bytes);   // Gives the memory back, which an assignment would not.
  return adapter.Set(pair.layer, target, matrices);
}

absl::Status Named(const AdapterFile& file, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(file.path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<LoraAdapter> MakeLoraAdapter(AdapterFile file, const ModelConfig& config, float scale) {
  if (!std::isfinite(scale)) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": scale: found ", scale, ", expected a finite number"));
  }
  ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(static_cast<int>(config.layers.size()), kLoraTargets));
  for (AdapterPair& pair : file.pairs) RETURN_IF_ERROR(Named(file, SetPair(pair, pair.scale * scale, adapter)));
  RETURN_IF_ERROR(Named(file, adapter.CheckFits(config)));
  return adapter;
}

LoraPlan PlanLoraAdapter(const AdapterFile& file, const ModelConfig& config) {
  const size_t places = config.layers.size() * kLoraTargets;
  LoraPlan plan = {.ranks = std::vector<int>(places), .number_bytes = std::vector<int>(places, sizeof(uint16_t))};
  for (const AdapterPair& pair : file.pairs) {
    const size_t place = static_cast<size_t>(pair.layer * kLoraTargets) + static_cast<size_t>(TargetOf(pair.matrix));
    plan.ranks[place] = pair.rank;
    if (!KeepsItsBits(pair)) plan.number_bytes[place] = sizeof(float);
  }
  return plan;
}

int64_t LoraPlan::BytesPaddedTo(const std::vector<int>& to, const std::vector<LoraShape>& shapes) const {
  int64_t bytes = 0;
  for (size_t place = 0; place < to.size(); ++place) bytes += to[place] * (shapes[place].in + shapes[place].out) * number_bytes[place];
  return bytes;
}

}  // namespace tessera
