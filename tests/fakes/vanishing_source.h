// A WeightSource that makes memory inaccessible when a lease ends. Every lease has its own address. Reading there after the end of the
// lease faults at once, instead of returning a number that happens to be still right.
//
//   VanishingSource source({unit_0, unit_1});            // the bytes of each unit
//   RunThePass(source);                                  // code that kept a pointer from one lease to the next dies with SIGSEGV
//   EXPECT_EQ(source.leases(), 2);
//
// Writing into a lease and reading past its last page are faults, too. A lease that was never ended is a CHECK failure when the source is
// destroyed. Ended addresses stay reserved, without memory, for the next kReserved leases. Thread-safe.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class VanishingSource : public WeightSource {
 public:
  static constexpr size_t kReserved = 8192;  // A process may have some 65,000 mappings.

  explicit VanishingSource(std::vector<std::vector<std::byte>> units) : units_(std::move(units)) {}
  VanishingSource(const VanishingSource&) = delete;
  VanishingSource& operator=(const VanishingSource&) = delete;

  ~VanishingSource() override {
    CHECK_EQ(live_.size(), 0u) << "leases were never ended; one of them: unit " << live_.begin()->second.unit;
    for (const Mapping& mapping : ended_) Unmap(mapping);
  }

  int units() const override { return static_cast<int>(units_.size()); }

  absl::StatusOr<WeightLease> Acquire(int unit) override {
    CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
    return Lease(unit, units_[unit]);
  }

  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override {
    CHECK_EQ(live(), 0);
    std::vector<WeightLease> leases;
    for (const UnitPart& part : parts) {
      ASSIGN_OR_RETURN(WeightLease lease, Lease(part.unit, absl::MakeConstSpan(units_[part.unit]).subspan(part.offset, part.bytes)));
      CHECK_EQ(static_cast<int64_t>(lease.bytes().size()), part.bytes);
      leases.push_back(std::move(lease));
    }
    return leases;
  }

  int64_t leases() const {  // Given so far.
    const std::lock_guard<std::mutex> lock(mutex_);
    return leases_;
  }
  int live() const {  // Not ended yet.
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(live_.size());
  }
  size_t ended() const {  // Ended, with their addresses still reserved.
    const std::lock_guard<std::mutex> lock(mutex_);
    return ended_.size();
  }

 private:
  static constexpr int64_t kPage = 4096;
  struct Mapping { std::byte* data; size_t size; int unit; };

  static void Unmap(const Mapping& mapping) { CHECK_EQ(munmap(mapping.data, mapping.size), 0) << std::strerror(errno); }

  absl::StatusOr<WeightLease> Lease(int unit, absl::Span<const std::byte> bytes) {
    const size_t readable = AlignUp(std::max<int64_t>(bytes.size(), 1), kPage);
    void* place = mmap(nullptr, readable + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return absl::ResourceExhaustedError(absl::StrCat("unit ", unit, ": ", std::strerror(errno)));
    std::byte* data = static_cast<std::byte*>(place);
    std::copy(bytes.begin(), bytes.end(), data);
    CHECK_EQ(mprotect(data, readable, PROT_READ), 0) << std::strerror(errno);
    CHECK_EQ(mprotect(data + readable, kPage, PROT_NONE), 0) << std::strerror(errno);

    const std::lock_guard<std::mutex> lock(mutex_);
    ++leases_;
    live_[data] = {data, readable + kPage, unit};
    return WeightLease(this, unit, absl::MakeConstSpan(data, bytes.size()), /*pinned=*/false);
  }

  void Release(int unit, absl::Span<const std::byte> bytes) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(bytes.data());
    CHECK(found != live_.end() && found->second.unit == unit) << "unit " << unit << " was not leased here, or has ended already";
    const Mapping mapping = found->second;
    live_.erase(found);
    CHECK_EQ(madvise(mapping.data, mapping.size, MADV_DONTNEED), 0) << std::strerror(errno);
    CHECK_EQ(mprotect(mapping.data, mapping.size, PROT_NONE), 0) << std::strerror(errno);
    ended_.push_back(mapping);
    if (ended_.size() <= kReserved) return;
    Unmap(ended_.front());
    ended_.pop_front();
  }

  const std::vector<std::vector<std::byte>> units_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, Mapping> live_;
  std::deque<Mapping> ended_;  // Oldest first.
  int64_t leases_ = 0;
};

}  // namespace tessera
