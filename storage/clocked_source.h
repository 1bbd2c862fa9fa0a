// Weights that take a phone's time to read: another source gives the bytes, and a virtual clock goes on as a flash profile says.
//
//   ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile("ufs4.0"));
//   VirtualClock clock;
//   ClockedSource source(std::move(streamer), clock, ClockedSource::OptionsFor(*file, plan, flash));
//   ASSIGN_OR_RETURN(WeightLease lease, source.Acquire(unit));      // `clock` has gone on to when the phone would have the unit
//   Print(source.stats().read_seconds, source.stats().waited_seconds);
//
// The phone's flash does what a LayerStreamer does: it reads the streamed units in the order of the file, round and round, one after the
// other, in reads of 4 MiB of which eight are in flight, and ahead as far as the ring has room: the place of a unit is free when its leases
// have ended. So reading goes on while others move the clock, and what is leased late is there already. A unit out of order empties the
// ring, and is read from when it is asked for. Parts of units are read in between, and put the units off by as long as they take.
// Time follows from the order of leases, by the clock, and from the sizes, not from threads: the same in each run, to the digit. Pins
// take no time here, whenever they are read. What would be read after 100 years is OutOfRange.
// Threads: as WeightSource; the clock is moved by the thread that acquires.
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
    std::vector<bool> streamed = {};         // and here, too. False for those that are pinned, or leased in parts only.
    int64_t ring_bytes = 0;
    Timeline* timeline = nullptr;            // On the same clock; reads are recorded there. Null: none.
  };
  struct Stats {
    int64_t read_bytes = 0;
    double read_seconds = 0;      // In which the flash reads.
    double waited_seconds = 0;    // In which leases waited for it.
  };

  // For a LayerStreamer of the file by this plan.
  static Options OptionsFor(const TsrReader& file, const StreamPlan& plan, FlashProfile flash, Timeline* timeline = nullptr);

  // The clock must outlive it.
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
    int64_t ready_ns = 0, free_ns = 0;   // When it was read; when its last lease ended.
  };

  void Release(int unit, absl::Span<const std::byte> bytes) override;
  absl::Status CheckTime(int unit) const;   // Whether something may be read now.
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
  mutable std::mutex mutex_;                          // For all that follows.
  std::vector<bool> streamed_;                        // Also what was unpinned since.
  std::vector<std::vector<WeightLease>> inner_;       // [unit]: leases of the other source, for those of this one.
  std::deque<Entry> ring_;                            // In the order in which they were read.
  int64_t ring_used_ = 0;
  int64_t room_ns_ = 0;                               // When the last place that was needed became free.
  int64_t read_end_ns_ = 0;                           // When the flash is done with all that was read so far.
  int last_ = -1;                                     // The unit that was read last.
  Stats stats_;
};

}  // namespace tessera
