// Weights that are all in memory: every lease is a view of bytes that stay at their address.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, ResidentSource::Create(unit_bytes));   // sizes, one per unit
//   for (int unit = 0; unit < source->units(); ++unit) Fill(unit, source->Unit(unit));
//   ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(0));
//
// All units lie in one buffer on large pages, each at a multiple of 4096 bytes. One buffer per unit would round every unit up to whole
// large pages. Thread-safe once filled; different units may be filled at the same time.
#pragma once

#include <memory>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class ResidentSource : public WeightSource {
 public:
  // Makes zeroed units of the given sizes. InvalidArgument for a negative size, OutOfRange if the sum overflows, ResourceExhausted (with
  // the bytes) if the system has no such memory.
  static absl::StatusOr<std::unique_ptr<ResidentSource>> Create(absl::Span<const int64_t> unit_bytes);

  int units() const override { return static_cast<int>(units_.size()); }
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;

  // Returns the bytes of a unit, to be filled before the first lease. REQUIRES: 0 <= unit < units().
  absl::Span<std::byte> Unit(int unit);

 private:
  struct Extent { int64_t offset = 0; int64_t bytes = 0; };

  ResidentSource() = default;
  void Release(int, absl::Span<const std::byte>) override {}

  AlignedBuffer buffer_;
  std::vector<Extent> units_;
};

}  // namespace tessera
