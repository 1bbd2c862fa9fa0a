// Hands out a model's weights one unit at a time, from memory or from a file that is being streamed.
//
//   ASSIGN_OR_RETURN(WeightLease lease, source.Acquire(unit));
//   RETURN_IF_ERROR(Use(lease.bytes()));
//                                            // the lease ends here: the bytes may move or vanish
//
// A unit is at most 16 MiB: whole tensors, or a range of rows of one tensor. Units are numbered in the order of a pass. The next lease of a
// unit may lie at another address, so no pointer may be kept from one lease to the next. If a pass needs few rows of a table (embeddings),
// parts of a unit are leased instead.
// Threads: one thread acquires; leases may end on any thread.
// Lifetime: a source must outlive its leases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

constexpr int64_t kLargestUnitBytes = int64_t{16} << 20;

class WeightSource;

class WeightLease {  // Move-only; the end never blocks.
 public:
  WeightLease() = default;
  WeightLease(WeightSource* source, int unit, absl::Span<const std::byte> bytes, bool pinned)
      : source_(source), unit_(unit), bytes_(bytes), pinned_(pinned) {}
  WeightLease(WeightLease&& other) noexcept { Swap(other); }
  WeightLease& operator=(WeightLease&& other) noexcept {
    WeightLease taken(std::move(other));  // The lease replaced here ends here, not when `other` does.
    Swap(taken);
    return *this;
  }
  ~WeightLease();

  int unit() const { return unit_; }
  // Unchanged until the lease ends. The bytes of a whole unit are 4096-byte aligned; the bytes of a part are 64-byte aligned.
  absl::Span<const std::byte> bytes() const { return bytes_; }
  bool pinned() const { return pinned_; }                       // For reports; correct code does not ask.

 private:
  void Swap(WeightLease& other) {
    std::swap(source_, other.source_);
    std::swap(unit_, other.unit_);
    std::swap(bytes_, other.bytes_);
    std::swap(pinned_, other.pinned_);
  }

  WeightSource* source_ = nullptr;
  int unit_ = -1;
  absl::Span<const std::byte> bytes_;
  bool pinned_ = false;
};

// Bytes of a unit from `offset` on.
struct UnitPart {
  int unit = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// Progress of weights that are still being read and will stay in memory. Thread-safe.
class Loading {
 public:
  virtual ~Loading() = default;
  // Waits until all resident weights have been read and verified; returns the first error.
  virtual absl::Status AwaitChecked() = 0;
  // Waits as AwaitChecked does, and until the weights are in their final place. Call this before timing passes.
  virtual absl::Status AwaitResident() = 0;
  // Returns the seconds that Acquire and AcquireParts have taken so far because weights were missing.
  virtual double LoadingSeconds() const = 0;
  // Returns the resources that the system refused so far, one sentence each. Refused threads make loading slower. Refused memory means that
  // the file must not be changed while parts are still read from the file.
  virtual std::vector<std::string> Shortages() const = 0;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual int units() const = 0;
  // Waits until `unit` is whole. An error fails this call only; the next may succeed. REQUIRES: 0 <= unit < units().
  virtual absl::StatusOr<WeightLease> Acquire(int unit) = 0;
  // Leases parts, in the order given. Reads little more than the parts if their units are not in memory. REQUIRES: at most kMostParts, of
  // kMostPartBytes together; each part lies in its unit; offsets are multiples of 64; the leases of the last call have ended.
  static constexpr int kMostParts = 64;
  static constexpr int64_t kMostPartBytes = int64_t{2} << 20;
  virtual absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) = 0;
  // Null: all weights that will stay in memory are there. Else valid as long as the source.
  virtual Loading* loading() { return nullptr; }

 protected:
  friend class WeightLease;
  virtual void Release(int unit, absl::Span<const std::byte> bytes) = 0;  // Called once per lease; must not block.
};

inline WeightLease::~WeightLease() {
  if (source_ != nullptr) source_->Release(unit_, bytes_);
}

}  // namespace tessera
