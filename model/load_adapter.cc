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

std::vector<float> Transposed(const std::vector<float>& numbers, int64_t rows, int64_t columns) {
  std::vector<float> transposed(numbers.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) transposed[column * rows + row] = numbers[row * columns + column];
  }
  return transposed;
}

absl::Status Named(const AdapterFile& file, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(file.path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<LoraAdapter> MakeLoraAdapter(const AdapterFile& file, const ModelConfig& config, float scale) {
  if (!std::isfinite(scale)) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": scale: found ", scale, ", expected a finite number"));
  }
  ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(static_cast<int>(config.layers.size()), kLoraTargets));
  for (const AdapterPair& pair : file.pairs) {
    LoraMatrices matrices = {.in = pair.a.columns, .out = pair.b.rows, .rank = pair.rank, .scale = pair.scale * scale,
                             .a = pair.a.Floats(), .b = Transposed(pair.b.Floats(), pair.b.rows, pair.b.columns)};
    RETURN_IF_ERROR(Named(file, adapter.Set(pair.layer, TargetOf(pair.matrix), std::move(matrices))));
  }
  RETURN_IF_ERROR(Named(file, adapter.CheckFits(config)));
  return adapter;
}

}  // namespace tessera
