// The state of a LayerStreamer, and the rules for access by threads. One thread reads (layer_streamer_reads.cc), others acquire and release
// (layer_streamer.cc).
//
//   auto impl = std::make_unique<LayerStreamer::Impl>(file, std::move(options));
//   RETURN_IF_ERROR(impl->Start());                      // from here on the reading thread runs
//   RETURN_IF_ERROR(impl->AwaitPins());                  // or leases, which wait for their own units
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/clock.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/internal/block_checker.h"
#include "tessera/storage/internal/parts_reader.h"
#include "tessera/storage/internal/unit_ring.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {

// Rules between the threads.
//
//  1. file_, options_, io_, reason_, and the address and size of buffer_ never change after Start. So the places of pins, ring and parts in
//     buffer_ never change either. All of these are read without the mutex.
//  2. checker_, reader_ and device_ belong to the reading thread. The thread steps the reader without the mutex, since a step waits for the
//     device.
//  3. All else is under mutex_. The reading thread holds mutex_ to take up work and to hand over results.
//  4. The device writes to three places only: a pin in the state kReading, a ring entry in the state kReading, and the parts. Parts are
//     written between the call that asks for parts (parts_asked_) and the last of the parts' reads. No lease is given on any of the three:
//     LeasePin gives pins in the state kThere, Take gives entries in the state kReady, ReadParts waits until parts_asked_ is empty. So
//     leased bytes do not change.
//  5. The ring reuses a place only when its entry is not held (UnitRing::Entry::Held): the entry is done, has no lease and is not being
//     read. Parts are read anew only when no part is leased (parts_leased_).
//  6. The ring holds units of order_ in that order, up to the one before next_. If a requested unit is not in the ring, all units of the
//     ring are marked as done, and next_ goes on from the requested unit.
//  7. A pin's place is given back to the system once: when the pin is no longer pinned, is not being read and has no lease. The place is
//     null from then on.
//  8. broken_ never becomes OK again: no further unit is read, and no part given out. Pins in memory and units in the ring can still be
//     leased.
//  9. changed_ is notified, under the mutex, after every finished read. A thread that waits on changed_ also looks at `cancel` every 50 ms.
//     wake_ is notified after every change that may give the reading thread work.
// 10. The end: stop_ is set under the mutex, the reading thread waits for all reads in flight, then for the device to end. Only then the
//     buffer is freed.
// 11. If memory ends on the reading thread, the thread ends: broken_ says so, and unfinished reads have failed.
// 12. If a new time of change may stand for writing, every block is compared from then on, at each read. Reads that were in progress then,
//     perhaps without comparing, are repeated before their bytes are given out.
// 13. A pin goes from kUnread to kReading to kThere, and stays there. If a pin cannot be read, one lease has the error (kFailed, then
//     kRefused), and the next request makes the pin kUnread again. Pins are read in turn among the streamed units. A pin is read before the
//     next streamed unit if the pin comes earlier in a pass; once next_ has come round, all pins do. Otherwise a pin is read when the ring
//     has no room for the next streamed unit. A pin that a lease waits for (asked_) goes before all others. Pins of which only parts are
//     leased go last.
//     a lease waits for (asked_) goes before all others, and those of which only parts are leased go last.
class LayerStreamer::Impl {
 public:
  Impl(const TsrReader& file, Options options)
      : file_(file), options_(std::move(options)),
        out_of_memory_(absl::ResourceExhaustedError(absl::StrCat(file.path(), ": reading: out of memory"))), ring_(options_.ring_bytes),
        checker_(file, options_.verify) {}
  ~Impl();

  absl::Status Start();
  absl::Status AwaitPins();
  double LoadingSeconds() const;
  int units() const { return file_.units(); }
  absl::StatusOr<absl::Span<const std::byte>> Acquire(int unit);
  absl::StatusOr<std::vector<absl::Span<const std::byte>>> AcquireParts(absl::Span<const UnitPart> parts);
  void Release(int unit, const std::byte* place);
  absl::Status Unpin(absl::Span<const int> units);
  bool IsPin(const std::byte* place) const { return place >= buffer_.data() && place < buffer_.data() + options_.pins.bytes; }
  Stats stats() const;
  IoKind io() const { return io_; }
  const std::string& reason() const { return reason_; }

 private:
  enum class PinState { kUnread, kReading, kThere, kFailed, kRefused };   // (13)
  struct Pin {
    bool pinned = false;
    std::byte* place = nullptr;  // Null: the memory is not ours, or no longer.
    int leases = 0;
    PinState state = PinState::kUnread;
    bool trusting = false;       // As trusting_.
    int64_t begin_nanos = 0;     // Begin of the read, for the timeline.
    absl::Status status = {};    // The cause of kFailed.
  };

  static int64_t Now() { return RealClock().NowNanos(); }   // Real time: threads wait in real time for the device, and for each other.
  absl::Status CheckOptions() const;
  absl::Status CheckUnpin(absl::Span<const int> units) const;
  void PlacePins();
  void OrderStreamed();
  bool Pinned(int unit) const { return pin_of_[unit].pinned; }
  bool PartsOnly(int unit) const { return !options_.parts_only.empty() && options_.parts_only[unit]; }
  bool PinIs(int unit, PinState state) const { return Pinned(unit) && pin_of_[unit].state == state; }
  std::optional<absl::Status> FindPin(int unit);
  absl::Status AwaitPin(int unit, std::unique_lock<std::mutex>& lock);
  absl::Span<const std::byte> LeasePin(int unit);
  void EndPinLease(int unit);
  void GiveBackUnused(int unit);
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  std::byte* RingPlace(int64_t offset) { return buffer_.data() + options_.pins.bytes + offset; }
  bool ReadNextIs(int unit) const { return !order_.empty() && order_[next_] == unit; }
  void Advance() {
    next_ = next_ + 1 == order_.size() ? 0 : next_ + 1;
    came_round_ |= next_ == 0;
  }
  void ReadFrom(int unit);
  std::optional<absl::StatusOr<absl::Span<const std::byte>>> Take(int unit);
  absl::StatusOr<absl::Span<const std::byte>> AwaitUnit(int unit, std::unique_lock<std::mutex>& lock);
  absl::Status AwaitParts(std::unique_lock<std::mutex>& lock);
  absl::Status ReadParts(std::vector<UnitPart> parts, std::unique_lock<std::mutex>& lock);

  // Called by the thread that reads. All except Read are called with the mutex held.
  void Read();
  void ReadUntilStopped();
  void EndOutOfMemory();
  void StartReads();
  bool StartNext();
  int NextPin();
  bool IsBeforeStreamed(int pin) const;
  bool StartStreamed();
  void ReadPin(int unit);
  void ReadStreamed(int unit);
  void StartUnit(int unit, std::byte* place, uint64_t first_id);
  absl::Status Judge(const absl::Status& read);
  bool MustReadAgain(bool trusting, const absl::Status& status) const { return status.ok() && trusting && !checker_.trusting(); }
  void Finish(const BlockReader::Finished& finished);
  void CountReads();
  void FinishPin(int unit, const absl::Status& status);
  void FinishStreamed(int unit, const absl::Status& status);
  void Record(int unit, int64_t begin_nanos);

  const TsrReader& file_;
  const Options options_;
  const absl::Status out_of_memory_;         // Allocated while there is memory.
  AlignedBuffer buffer_;                     // Pins, ring, parts.
  IoKind io_ = IoKind::kAuto;
  std::string reason_;
  std::unique_ptr<BlockDevice> device_;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;             // Wakes the reading thread: there may be work.
  std::condition_variable changed_;          // Wakes threads that wait for the reading thread.
  bool stop_ = false;
  std::vector<Pin> pin_of_;                  // [unit].
  absl::Status broken_;                      // Not OK: nothing can be read any more.
  std::vector<int> order_;                   // Streamed units, in the order of a pass.
  std::vector<int> position_;                // [unit]: index in order_.
  size_t next_ = 0;                          // In order_: the next to be read.
  bool came_round_ = false;                  // next_ has passed the end of order_ since a lease set next_, or since Start.
  UnitRing ring_;
  bool no_room_ = false;                     // For the next unit, when last looked.
  std::vector<int> pins_;                    // Units to pin, in the order of reading.
  size_t next_pin_ = 0;                      // In pins_: earlier pins need no more reading in turn.
  int asked_ = -1;                           // The pin that was last waited for.
  int64_t loading_nanos_ = 0;                // Spent waiting for pins.
  int units_reading_ = 0;
  std::vector<bool> trusting_;               // [unit]: whether blocks were trusted when the unit's reading began (12).
  std::vector<UnitPart> parts_asked_;        // To be read; empty once read.
  bool parts_begun_ = false;
  bool parts_trusting_ = false;              // As trusting_, for the parts.
  int parts_leased_ = 0;
  std::optional<PartsReader> parts_;
  Stats stats_;

  BlockChecker checker_;                     // The reading thread's (2).
  std::optional<BlockReader> reader_;
};

}  // namespace tessera
