#include "tessera/model/internal/output_norm.h"

#include <cmath>
#include <cstddef>
#include <cstring>

#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {

absl::StatusOr<OutputNorm> OutputNorm::Read(const ModelConfig& config, const WeightLayout& layout, WeightSource& source) {
  const TensorPart& norm = layout.Parts(OutputNormNeed(config).name)[0];
  const UnitPart part = {norm.unit, norm.offset, norm.bytes};
  ASSIGN_OR_RETURN(const std::vector<WeightLease> leases, source.AcquireParts({&part, 1}));
  std::vector<float> weights(static_cast<size_t>(config.width));
  std::memcpy(weights.data(), leases[0].bytes().data(), weights.size() * sizeof(float));
  return OutputNorm(config.norm_epsilon, std::move(weights));
}

void OutputNorm::Apply(float* state) const {
  double squares = 0;
  for (size_t i = 0; i < weights_.size(); ++i) squares += static_cast<double>(state[i]) * state[i];
  const double factor = 1 / std::sqrt(squares / static_cast<double>(weights_.size()) + epsilon_);
  for (size_t i = 0; i < weights_.size(); ++i) state[i] = static_cast<float>(state[i] * factor) * weights_[i];
}

}  // namespace tessera
