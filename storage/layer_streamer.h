// Weights of which only a part stays in memory: units are read from a .tsr file while those before them are computed with.
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
// Some units are pinned: read once, and kept. The others are read again in every pass, in the order of the file, which is that of a pass;
// if the ring has room for all of them, they are read once. After the last unit comes the first, so reading goes on between passes. Pins
// are read in that order, too, so the first pass waits for no pin but the one that it needs; while the ring is full, the next pins are
// read. Units that were read wait in a ring of memory. A unit may go when its leases have ended and either a later unit was requested
// (neighbouring blocks may share one) or the pass has ended; it goes when room is needed. The ring size bounds the read-ahead. A unit that
// is requested out of order empties the ring, and reading goes on from there. When memory becomes short, pins can be given up during all
// this:
//
//   RETURN_IF_ERROR(source->Unpin({2, 5}));                                  // from now on they are read in every pass
//
// docs/storage.md has the picture.
//
// Files are read past the page cache where the system allows it (open_block_device.h). Every block is compared with its checksum, by
// `verify`. A unit that cannot be read fails that lease alone, with file, tensor and bytes; the next request tries again. After each unit
// the file is checked for changes: if it was written to, neither that unit nor any after it is given out. If only its time of change
// moved, as when it is renamed, every block is compared from then on, whatever `verify` says.
// What opening does to the process: it makes one thread, which begins to read. Unless the options ask for it, nothing is forked, no thread
// gets a priority above others, and io_uring is used only if it is asked for by name. Nothing is logged.
// Threads: one acquires, any may end leases, unpin or wait for pins. The file must outlive the streamer.
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
    std::vector<bool> parts_only = {};    // Units of which only parts are leased: they are not read ahead. Empty: none.
    int64_t ring_bytes = 0;               // At least RingBytesFor.
    VerifyPolicy verify = VerifyPolicy::kFirst;
    IoKind io = IoKind::kAuto;            // kAuto takes io_uring only with probe_in_child.
    bool probe_in_child = false;          // As OpenOptions has it: fork once, in Open, to find out whether io_uring may be used.
    // The reading thread runs before other threads: at real-time priority (SCHED_FIFO, the lowest there is), or else at nice -10, where the
    // system allows it. Worth it where computing threads fill all CPUs: an ordinary thread waits for one up to milliseconds after each
    // read, and the device waits with it (docs/storage.md).
    bool raise_priority = false;
    int depth = 8;                        // Reads in flight, of at most kReadBytes each.
    Timeline* timeline = nullptr;         // Reads are recorded there. Null: no clock is read for it.
    const std::atomic<bool>* cancel = nullptr;  // True ends a wait with Cancelled within 50 ms. Null: never.
    // Wraps the device: for tests that make it fail, and for slower flash than there is. Null: the device as it is.
    std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = {};
  };

  // The least a ring needs. `together`: bytes of the units that are leased at once; `largest`: bytes of the largest unit that is streamed;
  // each unit rounded up to whole pages. From twice `together` on, reading need not pause while a block computes. PlanStreaming
  // (stream_plan.h) computes this from a budget.
  static int64_t RingBytesFor(int64_t together, int64_t largest) { return together + largest; }
  // What a pass reads, from the second on: nothing if the ring has room for all units that are streamed, and all of them otherwise.
  static constexpr int64_t ReadInPass(int64_t streamed_bytes, int64_t ring_bytes) {
    return streamed_bytes <= ring_bytes ? 0 : streamed_bytes;
  }
  // The most that one read takes: several blocks with a checksum each, since the cost of a read does not depend on its size.
  static constexpr int64_t kReadBytes = int64_t{4} << 20;
  // Memory of a streamer besides pins and ring: parts of units are read there.
  static constexpr int64_t kPartsBytes = int64_t{8} << 20;

  // Reads from file.file(), and returns before it has: a pin that cannot be read fails the lease that waits for it, as any unit does.
  // InvalidArgument if options do not fit the file (which, found, expected), ResourceExhausted if there is no memory for them (with the
  // bytes) or no thread; the errors of OpenBlockDevice.
  static absl::StatusOr<std::unique_ptr<LayerStreamer>> Open(const TsrReader& file, Options options);
  ~LayerStreamer() override;  // Waits for what is in flight. REQUIRES: no lease is left.

  int units() const override;
  // Errors: Unavailable or DataLoss (path, unit, tensor, bytes), FailedPrecondition if the file was written to since it was opened,
  // Cancelled, ResourceExhausted if the ring is too small for the units that are leased.
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  // Parts of a pin that is not there yet are read apart.
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;

  // Waits for the pins: either returns when all are in their place and were compared as `verify` says, or with the first error of one,
  // which another call, or lease, tries to read again. Units that go through the ring are not waited for.
  Loading* loading() override { return this; }
  absl::Status AwaitChecked() override;
  absl::Status AwaitResident() override;
  double LoadingSeconds() const override;    // Waiting for pins: a part of Stats::stall_nanos.
  std::vector<std::string> Shortages() const override;  // None.

  // Streams these units, which were pinned, from now on, and gives their memory back to the system: at once, or when the last lease of a
  // leased one ends. InvalidArgument (unit, found, expected), and nothing is changed, if one is not pinned or is larger than the ring.
  // REQUIRES: each unit is named once; the ring has room for what is leased at once (RingBytesFor), these units included.
  absl::Status Unpin(absl::Span<const int> units);

  struct Stats {                       // Since Open, pins included.
    int64_t bytes_read = 0;
    int64_t bytes_used = 0;            // As far as they were whole pins, parts, or units that were leased. The others are for later leases.
    int64_t read_nanos = 0;            // In which the device had something to do.
    int64_t stall_nanos = 0;           // In which a thread waited for a unit.
    int64_t out_of_order = 0;          // Units that were not the next.
    int64_t retries = 0;               // Short and interrupted reads, errors, blocks read again.
    int64_t pinned_bytes = 0;          // Now, with those that are still to be read.
    int64_t streamed_bytes = 0;        // All units that go through the ring, now.
    int64_t pass_bytes = 0;            // That a pass reads now (ReadInPass).
    int64_t ring_bytes = 0;
    int64_t kept_bytes = 0;            // Unpinned, but not taken back by the system: memory that is locked.
  };
  Stats stats() const;
  IoKind device_io() const;                  // What the file is read with: Options::io, or what kAuto came to.
  const std::string& device_reason() const;  // The same in words, and why nothing better (OpenedDevice).

 private:
  void Release(int unit, absl::Span<const std::byte> bytes) override;

  class Impl;
  explicit LayerStreamer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
