#include "tessera/storage/resident_source.h"

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<ResidentSource>> ResidentSource::Create(absl::Span<const int64_t> unit_bytes) {
  auto source = std::unique_ptr<ResidentSource>(new ResidentSource());
  int64_t total = 0;
  for (int64_t bytes : unit_bytes) {
    if (bytes < 0) {
      return absl::InvalidArgumentError(absl::StrCat("unit ", source->units(), ": size: found ", bytes, ", expected >= 0"));
    }
    source->units_.push_back({total, bytes});
    ASSIGN_OR_RETURN(const int64_t end, CheckedAdd(total, bytes));
    ASSIGN_OR_RETURN(total, CheckedAlignUp(end, AlignedBuffer::kAlignment));
  }
  ASSIGN_OR_RETURN(source->buffer_, AlignedBuffer::Allocate(total));
  return source;
}

absl::Span<std::byte> ResidentSource::Unit(int unit) {
  CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
  return buffer_.bytes().subspan(units_[unit].offset, units_[unit].bytes);
}

absl::StatusOr<WeightLease> ResidentSource::Acquire(int unit) { return WeightLease(this, unit, Unit(unit), /*pinned=*/true); }

absl::StatusOr<std::vector<WeightLease>> ResidentSource::AcquireParts(absl::Span<const UnitPart> parts) {
  std::vector<WeightLease> leases;
  leases.reserve(parts.size());
  for (const UnitPart& part : parts) {
    leases.emplace_back(this, part.unit, Unit(part.unit).subspan(part.offset, part.bytes), /*pinned=*/true);
  }
  return leases;
}

}  // namespace tessera
