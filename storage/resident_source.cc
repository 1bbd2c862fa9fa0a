#include "tessera/storage/resident_source.h"

#include <glog/logging.h>

namespace tessera {

absl::StatusOr<WeightLease> ResidentSource::Acquire(int unit) {
  CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
  return WeightLease(this, unit, units_[unit].bytes(), /*pinned=*/true);
}

}  // namespace tessera
