// Weights that are all in memory: every lease is a view of bytes that stay where they are.
//
//   std::vector<AlignedBuffer> units = ...;                 // one per unit, filled by model/weights
//   ResidentSource source(std::move(units));
//   ASSIGN_OR_RETURN(WeightLease lease, source.Acquire(0));
//
// Thread-safe.
#pragma once

#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class ResidentSource : public WeightSource {
 public:
  explicit ResidentSource(std::vector<AlignedBuffer> units) : units_(std::move(units)) {}

  int units() const override { return static_cast<int>(units_.size()); }
  absl::StatusOr<WeightLease> Acquire(int unit) override;

 private:
  void Release(int, absl::Span<const std::byte>) override {}

  std::vector<AlignedBuffer> units_;
};

}  // namespace tessera
