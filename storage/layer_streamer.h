// Weights of which only a part stays in memory: units are read from a .tsr file while those before them are computed with.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<TsrReader> file, TsrReader::Open("model.tsr"));
//   ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> source,
//                    LayerStreamer::Open(*file, {.pins = PlanPins(unit_bytes, budget, PinPolicy::kSpread), .ring_bytes = 64 << 20}));
//   for (int unit = 0; unit < source->units(); ++unit) {
//     ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(unit));           // waits until the unit is there
//     Use(lease.bytes());
//   }
//
// Some units are pinned: read once, and kept. The others are read again in every pass, in the order of the file, which is that of a
// pass and has no end: after the last comes the first, so reading goes on between passes. They lie in a ring until they have been
// leased and given back, and one after them is asked for (so that blocks of a model may share a unit), or the pass is over; how far
// reading is ahead is how much room the ring has. A unit that is asked for out of order empties the
// ring and reading goes on from there. Where memory becomes short, pins are given up while all this goes on:
//
//   RETURN_IF_ERROR(source->Unpin({2, 5}));                                  // from now on they are read in every pass
//
// docs/storage.md has the picture.
//
// Nothing else is read, and past the page cache where the system lets us (open_block_device.h). Every block is compared with its
// checksum, by `verify`. A unit that cannot be read fails that lease alone, with file, tensor and bytes; the next tries again. After each
// unit the file is asked whether it was written to: if so, neither that unit nor any after it is given out.
// Threads: one acquires, any may end leases or unpin, one of its own reads. The file must outlive it.
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

class LayerStreamer : public WeightSource {
 public:
  struct Options {
    PinPlan pins;                         // Of all units of the file.
    std::vector<bool> parts_only;         // Units of which nothing but parts are leased: they are not read ahead. Empty: none.
    int64_t ring_bytes = 0;               // At least RingBytesFor.
    VerifyPolicy verify = VerifyPolicy::kFirst;
    IoKind io = IoKind::kAuto;
    int depth = 8;                        // Reads in flight, of at most kReadBytes each.
    Timeline* timeline = nullptr;         // Reads are recorded there. Null: no clock is read for it.
    const std::atomic<bool>* cancel = nullptr;  // True ends a wait with Cancelled within 50 ms. Null: never.
    // Called now and then while pins are read, on the thread of Open. Null: not.
    std::function<void(int64_t bytes, int64_t of_bytes)> progress;
    // Wraps the device: for tests that make it fail, and for slower flash than there is. Null: the device as it is.
    std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device;
  };

  // What the ring needs at least: `together` are the bytes of the units that are leased at once, `largest` those of the largest unit
  // that is streamed, each rounded up to whole pages. From twice `together` on, reading need not pause while a block computes.
  static int64_t RingBytesFor(int64_t together, int64_t largest) { return together + largest; }
  // The most that is read at once: several blocks with a checksum each, since what one read costs does not depend on its size.
  static constexpr int64_t kReadBytes = int64_t{4} << 20;
  // Memory of a streamer besides pins and ring: where parts of units lie.
  static constexpr int64_t kPartsBytes = int64_t{8} << 20;

  // Reads the pins. InvalidArgument if options do not fit the file (which, found, expected), ResourceExhausted (with the bytes) if
  // there is no memory for them, Cancelled; the errors of OpenBlockDevice, and of reading.
  static absl::StatusOr<std::unique_ptr<LayerStreamer>> Open(const TsrReader& file, Options options);
  ~LayerStreamer() override;  // Waits for what is in flight. REQUIRES: no lease is left.

  int units() const override;
  // Errors: Unavailable or DataLoss (path, unit, tensor, bytes), FailedPrecondition if the file was written to since it was opened,
  // Cancelled, ResourceExhausted if the ring is too small for the units that are leased.
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;

  // Streams units from now on that were pinned, each named once, and gives their memory back to the system: at once, or with the last
  // lease of one that is leased. InvalidArgument (unit, found, expected), and nothing is changed, if one is not pinned or is larger
  // than the ring. REQUIRES: the ring has room for what is leased at once (RingBytesFor), these units included.
  absl::Status Unpin(absl::Span<const int> units);

  struct Stats {                       // Since Open, pins included.
    int64_t bytes_read = 0;
    int64_t bytes_used = 0;            // Of those: pins, parts, and units that were leased. The others were read for leases to come.
    int64_t read_nanos = 0;            // In which the device had something to do.
    int64_t stall_nanos = 0;           // In which somebody waited for a unit.
    int64_t out_of_order = 0;          // Units that were not the next.
    int64_t retries = 0;               // Short and interrupted reads, errors, blocks read again.
    int64_t pinned_bytes = 0;          // Now.
    int64_t streamed_bytes = 0;        // Of the units that a pass reads now.
    int64_t ring_bytes = 0;
  };
  Stats stats() const;
  const std::string& device_reason() const;  // How the file is read, and why so (OpenedDevice).

 private:
  void Release(int unit, absl::Span<const std::byte> bytes) override;

  class Impl;
  explicit LayerStreamer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
