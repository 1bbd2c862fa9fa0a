// A source with one unit that cannot be read for a while.
//
//   FailingSource source(model.source());
//   source.failing = 3;                  // leases of unit 3 are errors from here on
//   source.failing = -1;                 // and no longer
//
// Thread-compatible; the other source must outlive this one.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class FailingSource : public WeightSource {
 public:
  explicit FailingSource(WeightSource& source) : source_(source) {}
  int units() const override { return source_.units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override {
    if (unit == failing) return absl::UnavailableError("unit cannot be read");
    return source_.Acquire(unit);
  }
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override {
    for (const UnitPart& part : parts) {
      if (part.unit == failing) return absl::UnavailableError("unit cannot be read");
    }
    return source_.AcquireParts(parts);
  }
  int failing = -1;

 private:
  void Release(int, absl::Span<const std::byte>) override {}
  WeightSource& source_;
};

}  // namespace tessera
