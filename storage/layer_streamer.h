// Streams a model's weights. Some units stay in memory; the others are read from a .tsr file while earlier units are in use.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<TsrReader> file, TsrReader::Open("model.tsr"));
//   ASSIGN_OR_RETURN(const StreamPlan plan, PlanStreaming(*file, /*budget=*/512 << 20));                        // stream_plan.h
//   ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> source,
//                    LayerStreamer::Open(*file, {.pins = plan.pins, .ring_bytes = plan.ring_bytes}));
//   for (int unit = 0; unit < source->units(); ++unit) {
//     ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(unit));           // waits until the unit is there
//     Use(lease.bytes());
//   }
//
// Some units are pinned: read once, and kept. The others are streamed: read again in every pass, in the order of the file, which is the
// order of a pass. If the ring has room for all streamed units, these are read once. After the last unit comes the first, so reading goes
// on between passes. Pins are read in the same order, so the first pass waits only for the pin that it needs. While the ring is full, the
// next pins are read.
//
// Streamed units wait in a ring of memory. A unit may leave the ring when its leases have ended and the unit is no longer needed: a later
// unit was requested (neighbouring blocks may share a unit), or the pass has ended. The unit leaves when room is needed. The ring size
// bounds the read-ahead. A unit that is requested out of order empties the ring, and reading goes on from that unit. When memory becomes
// short, pins can be given up meanwhile:
//
//   RETURN_IF_ERROR(source->Unpin({2, 5}));                                  // from now on they are read in every pass
//
// docs/storage.md has the picture.
//
// Files are read past the page cache where the system allows it (open_block_device.h). Every block is compared with its checksum, as
// `verify` says. After each unit the file is checked for changes. If only the file's time of change moved, as when the file is renamed,
// every block is compared from then on, even if `verify` says otherwise.
//
// Effects on the process: opening makes one thread, which begins to read. Unless the options ask for more, nothing is forked, no thread
// gets a priority above others, and io_uring is used only if requested by name. Nothing is logged.
// Threads: one acquires, any may end leases, unpin or wait for pins.
// Lifetime: the file must outlive the streamer.
// Errors: a unit that cannot be read fails that lease alone, with file, tensor and bytes; the next request tries again. If the file was
// written to, neither the unit just read nor any later unit is given out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/timeline.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/storage/pin_plan.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/verify_policy.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class LayerStreamer : public WeightSource, public Loading {
 public:
  struct Options {
    PinPlan pins = {};                    // One entry per unit of the file.
    std::vector<bool> parts_only = {};    // Units of which only parts are leased: not read ahead. Empty: none.
    int64_t ring_bytes = 0;               // At least RingBytesFor.
    VerifyPolicy verify = VerifyPolicy::kFirst;
    IoKind io = IoKind::kAuto;            // kAuto takes io_uring only with probe_in_child.
    bool probe_in_child = false;          // As in OpenOptions: fork once, in Open, to find out whether io_uring may be used.
    // Runs the reading thread before other threads: at real-time priority (SCHED_FIFO, the lowest level), or else at nice -10, where the
    // system allows the change. Useful where computing threads fill all CPUs: there an ordinary thread waits up to milliseconds for a CPU
    // after each read, and the device waits, too (docs/storage.md).
    bool raise_priority = false;
    int depth = 8;                        // Reads in flight, of at most kReadBytes each.
    Timeline* timeline = nullptr;         // Records reads. Null: no clock is read for the timeline.
    const std::atomic<bool>* cancel = nullptr;  // True ends a wait with Cancelled within 50 ms. Null: never.
    // Wraps the device: for tests that make reads fail, and for modeling slower flash. Null: the device as opened.
    std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = {};
  };

  // Returns the least size of a ring. `together`: bytes of the units that are leased at once. `largest`: bytes of the largest streamed
  // unit. Each unit counts rounded up to whole pages. From twice `together` on, reading need not pause while a block computes.
  // PlanStreaming (stream_plan.h) computes the size from a budget.
  static int64_t RingBytesFor(int64_t together, int64_t largest) { return together + largest; }
  // Returns the bytes that a pass reads, from the second pass on: nothing if the ring has room for all streamed units, else all of them.
  static constexpr int64_t ReadInPass(int64_t streamed_bytes, int64_t ring_bytes) {
    return streamed_bytes <= ring_bytes ? 0 : streamed_bytes;
  }
  // The largest read: several blocks with a checksum each, since the cost of a read does not depend on its size.
  static constexpr int64_t kReadBytes = int64_t{4} << 20;
  // Memory of a streamer in addition to pins and ring: parts of units are read there.
  static constexpr int64_t kPartsBytes = int64_t{8} << 20;

  // Starts to read from file.file(), and returns before all is read. A pin that cannot be read fails the lease that waits for the pin, as
  // any unit does. InvalidArgument if options do not fit the file (option, found, expected). ResourceExhausted if memory (with the bytes)
  // or a thread is missing. Also the errors of OpenBlockDevice.
  static absl::StatusOr<std::unique_ptr<LayerStreamer>> Open(const TsrReader& file, Options options);
  ~LayerStreamer() override;  // Waits for reads in flight. REQUIRES: no lease is left.

  int units() const override;
  // Errors: Unavailable or DataLoss (path, unit, tensor, bytes), FailedPrecondition if the file was written to since opened, Cancelled,
  // ResourceExhausted if the ring is too small for the leased units.
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  // Parts of a pin that is still missing are read separately.
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;

  // Both wait for the pins. Each returns when all pins are in place and were compared as `verify` says, or with the first error of a pin.
  // Another call or lease tries to read that pin again. Streamed units are not waited for.
  Loading* loading() override { return this; }
  absl::Status AwaitChecked() override;
  absl::Status AwaitResident() override;
  double LoadingSeconds() const override;    // Waiting for pins: a part of Stats::stall_nanos.
  std::vector<std::string> Shortages() const override;  // None.

  // Streams these pinned units from now on, and gives their memory back to the system: at once, or when the last lease of the unit ends.
  // InvalidArgument (unit, found, expected), without any change, if a unit is not pinned or is larger than the ring.
  // REQUIRES: each unit is named once; the ring has room for all units that are leased at once (RingBytesFor), these units included.
  absl::Status Unpin(absl::Span<const int> units);

  struct Stats {                       // Since Open, pins included.
    int64_t bytes_read = 0;
    int64_t bytes_used = 0;            // In pins, parts, and units that were leased. The other bytes are for later leases.
    int64_t read_nanos = 0;            // While the device had something to do.
    int64_t stall_nanos = 0;           // While a thread waited for a unit.
    int64_t out_of_order = 0;          // Units that were not the next.
    int64_t retries = 0;               // Short and interrupted reads, errors, blocks read again.
    int64_t pinned_bytes = 0;          // Now, with pins that are still to be read.
    int64_t streamed_bytes = 0;        // All units that go through the ring, now.
    int64_t pass_bytes = 0;            // Read per pass now (ReadInPass).
    int64_t ring_bytes = 0;
    int64_t kept_bytes = 0;            // Unpinned, but not taken back by the system: locked memory.
  };
  Stats stats() const;
  IoKind device_io() const;                  // How the file is read: Options::io, or the choice of kAuto.
  const std::string& device_reason() const;  // The same in words, and why nothing better (OpenedDevice).

 private:
  void Release(int unit, absl::Span<const std::byte> bytes) override;

  class Impl;
  explicit LayerStreamer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
