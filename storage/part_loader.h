// Reads parts of units of a .tsr file into one memory, load after load, on a thread of its own. For weights that come as a whole, are used
// for a while and make room for others.
//
//   PartLoader loader(*file, {});                                                     // of a TsrReader
//   const std::vector<UnitPart> parts = {{.unit = 3, .offset = 0, .bytes = 8192}};
//   std::unique_ptr<PartLoader::Load> load = loader.Begin(parts, /*place=*/0, /*detail=*/0);   // after those that were begun before
//   RETURN_IF_ERROR(loader.Start(/*memory_bytes=*/loader.BytesOf(parts)));            // from here on they are read
//   ASSIGN_OR_RETURN(const absl::Span<const absl::Span<const std::byte>> bytes, load->Await());   // bytes[0]: of parts[0]
//   load.reset();                                                                     // others may be loaded to its place
//
// Blocks with a checksum are read whole and compared with the checksum, as `verify` says. A load that cannot be read fails the Await that
// waits for the load, with file, unit and bytes. An Await after the failure reads the load again, behind the loads that wait.
//
// After each load the file is checked for changes. If the file was written to, neither that load nor any later load is given out. If a load
// ends while being read, the loader's thread waits for the reads in flight before reading anything else. So the load's place may be given
// to the next load at once. Nothing is allocated or opened before Start. Nothing is logged.
// Threads: one begins, awaits and ends loads.
// Lifetime: the file must outlive the loader, and the loader its loads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/timeline.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/verify_policy.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class PartLoader {
 public:
  // The options of LayerStreamer::Options.
  struct Options {
    VerifyPolicy verify = VerifyPolicy::kFirst;
    IoKind io = IoKind::kAuto;
    bool probe_in_child = false;
    bool raise_priority = false;
    int depth = 8;
    Timeline* timeline = nullptr;               // Each load is an event there: its detail, on the flash. Null: no clock is read for it.
    const std::atomic<bool>* cancel = nullptr;  // True ends a wait with Cancelled within 50 ms. Null: never.
    std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = {};
  };

 private:
  class Impl;
  struct Job;

 public:
  // A load in progress or in memory. Ending a Load removes the load from the queue.
  class Load {
   public:
    ~Load();
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    bool is_ready() const;   // The bytes are in memory.
    // Returns the bytes of each part, in order. The bytes stay until the Load ends, 64-byte aligned as the parts' offsets are. Errors:
    // Unavailable or DataLoss (path, unit, tensor, bytes), FailedPrecondition if the file was written to since opened, or if Start was not
    // called; Cancelled.
    absl::StatusOr<absl::Span<const absl::Span<const std::byte>>> Await();

   private:
    friend class PartLoader;
    Load(Impl& loader, std::shared_ptr<Job> job) : loader_(loader), job_(std::move(job)) {}
    Impl& loader_;
    const std::shared_ptr<Job> job_;
  };

  PartLoader(const TsrReader& file, Options options);
  ~PartLoader();   // REQUIRES: no load is left.

  // Returns the memory for a load of these parts: a multiple of BlockDevice::kAlignment. REQUIRES, as for Begin: each part lies in its
  // unit.
  int64_t BytesOf(absl::Span<const UnitPart> parts) const;

  // Allocates `memory_bytes` bytes, and starts the reading thread. ResourceExhausted (with the bytes) if there is no memory or no thread;
  // also the errors of OpenBlockDevice. REQUIRES: called once.
  absl::Status Start(int64_t memory_bytes);

  // Begins a load into that memory, from `place` on. REQUIRES: the load's bytes are inside the memory and belong to no other load; place is
  // a multiple of BlockDevice::kAlignment.
  std::unique_ptr<Load> Begin(absl::Span<const UnitPart> parts, int64_t place, int detail);

  // Waits until nothing is left to be read. Returns the first error of a load since the last such call.
  absl::Status AwaitAll();

  // False: from now on nothing is recorded on the timeline, and no wait counts.
  void SetRecording(bool on);

  struct Stats {               // Since Start.
    int64_t loads = 0;         // Complete loads,
    int64_t read_bytes = 0;    // their bytes,
    int64_t read_nanos = 0;    // and the time from the first byte of a load to the last.
    int64_t waited_nanos = 0;  // By Await.
    double bytes_per_second() const {
      return read_nanos == 0 ? 0 : static_cast<double>(read_bytes) * 1e9 / static_cast<double>(read_nanos);
    }
  };
  Stats stats() const;
  IoKind device_io() const;                  // How the file is read. REQUIRES, as for device_reason: Start succeeded.
  const std::string& device_reason() const;  // The same in words, and why nothing better (OpenedDevice).

 private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
