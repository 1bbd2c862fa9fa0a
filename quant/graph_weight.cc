#include "tessera/quant/graph_weight.h"

#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<int64_t> WeightBytes(const GraphWeight& weight, WeightEncoding encoding) {
  if (encoding == WeightEncoding::kPacked && !weight.vector) return PackedMatrix::BytesFor(weight.spec);
  ASSIGN_OR_RETURN(const int64_t values, CheckedMul(weight.spec.out_features, weight.spec.in_features));
  return CheckedMul(values, sizeof(float));
}

}  // namespace tessera
