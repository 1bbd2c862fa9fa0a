#include "tessera/quant/graph_weight.h"

#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera {

absl::StatusOr<int64_t> WeightBytes(const GraphWeight& weight, WeightEncoding encoding) {
  if (!weight.vector && encoding == WeightEncoding::kTiles && weight.tile.has_value()) {
    return TileMatrix::BytesFor(weight.spec, *weight.tile);
  }
  if (!weight.vector && encoding != WeightEncoding::kFloat32) return PackedMatrix::BytesFor(weight.spec);
  ASSIGN_OR_RETURN(const int64_t values, CheckedMul(weight.spec.out_features, weight.spec.in_features));
  return CheckedMul(values, sizeof(float));
}

}  // namespace tessera
