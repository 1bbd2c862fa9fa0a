// Applies a model's output norm to states that were read from a pass in front of the norm, so that the rest can be computed separately.
//
//   ASSIGN_OR_RETURN(const OutputNorm norm, OutputNorm::Read(config, layout, source));
//   norm.Apply(state.data());                                                          // [width], in place
//
// Bits depend on the state alone. Errors: Read returns the errors of the source. Threads: thread-safe once read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class OutputNorm {
 public:
  static absl::StatusOr<OutputNorm> Read(const ModelConfig& config, const WeightLayout& layout, WeightSource& source);

  void Apply(float* state) const;
  int64_t width() const { return static_cast<int64_t>(weights_.size()); }
  int64_t bytes() const { return static_cast<int64_t>(weights_.capacity() * sizeof(float)); }

 private:
  OutputNorm(float epsilon, std::vector<float> weights) : epsilon_(epsilon), weights_(std::move(weights)) {}

  float epsilon_;
  std::vector<float> weights_;
};

}  // namespace tessera
