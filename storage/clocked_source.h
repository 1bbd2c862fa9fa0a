// Weights with a phone's reading time. Another source gives the bytes, and a virtual clock advances by a flash profile.
//
//   ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile("ufs4.0"));
//   VirtualClock clock;
//   ClockedSource source(std::move(streamer), clock, ClockedSource::OptionsFor(*file, plan, flash));
//   ASSIGN_OR_RETURN(WeightLease lease, source.Acquire(unit));      // `clock` has gone on to when the phone would have the unit
//   Print(source.stats().read_seconds, source.stats().waited_seconds);
//
// The modeled flash acts as a LayerStreamer does. Streamed units are read in the order of the file, round and round, one after the other.
// Reads have 4 MiB, eight are in flight, and read-ahead goes as far as the ring has room. The place of a unit is free when its leases have
// ended. So reading goes on while others move the clock, and a unit that is leased late is there already. A unit out of order empties the
// ring, and its reading starts at the request. Parts of units are read in between, and delay the units by the parts' reading time.
//
// Time follows from the order of leases, by the clock, and from the sizes, not from threads: the same in each run, to the digit. Pins take
// no time here, whenever read. A read that would end after 100 years is OutOfRange.
// Threads: as WeightSource; the acquiring thread moves the clock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/base/timeline.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/stream_plan.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class ClockedSource : public WeightSource {
 public:
  struct Options {
    FlashProfile flash = {};
    std::vector<int64_t> unit_bytes = {};    // In the file, whole pages. REQUIRES: one per unit,
    std::vector<bool> streamed = {};         // and here, too. False for units that are pinned, or leased in parts only.
    int64_t ring_bytes = 0;
    Timeline* timeline = nullptr;            // On the same clock; records reads. Null: none.
  };
  struct Stats {
    int64_t read_bytes = 0;
    double read_seconds = 0;      // While the flash reads.
    double waited_seconds = 0;    // While leases waited for the flash.
  };

  // Returns the options for a LayerStreamer of the file by this plan.
  static Options OptionsFor(const TsrReader& file, const StreamPlan& plan, FlashProfile flash, Timeline* timeline = nullptr);

  // The clock must outlive the source.
  ClockedSource(std::unique_ptr<WeightSource> source, VirtualClock& clock, Options options);
  ~ClockedSource() override;      // REQUIRES: no lease is left.

  int units() const override { return source_->units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;
  Loading* loading() override { return source_->loading(); }

  Stats stats() const;

 private:
  // A unit in the phone's ring.
  struct Entry {
    int unit = 0, leases = 0;
    int64_t ready_ns = 0, free_ns = 0;   // End of the read; end of the last lease.
  };

  void Release(int unit, absl::Span<const std::byte> bytes) override;
  absl::Status CheckTime(int unit) const;   // Returns whether a read may begin now.
  Entry* Find(int unit);
  bool IsThere(const Entry& entry) const;
  int Next() const;
  int64_t RoomFor(int64_t bytes);
  int64_t EmptyRing();
  Entry& Read(int unit);
  int64_t BytesOf(int unit) const { return options_.unit_bytes[static_cast<size_t>(unit)]; }
  double SecondsOf(int64_t bytes, int depth) const;
  void AwaitNanos(int64_t ready_ns);

  const std::unique_ptr<WeightSource> source_;
  VirtualClock& clock_;
  const Options options_;
  mutable std::mutex mutex_;                          // Guards all members below.
  std::vector<bool> streamed_;                        // Also units that were unpinned since.
  std::vector<std::vector<WeightLease>> inner_;       // [unit]: leases of the other source, one per lease of this source.
  std::deque<Entry> ring_;                            // In the order of the reads.
  int64_t ring_used_ = 0;
  int64_t room_ns_ = 0;                               // When the last needed place became free.
  int64_t read_end_ns_ = 0;                           // When the flash is done with all reads so far.
  int last_ = -1;                                     // The unit that was read last.
  Stats stats_;
};

}  // namespace tessera
