// Measures how fast this machine reads a file past the page cache, in blocks of several sizes with several of them in flight.
//
//   ASSIGN_OR_RETURN(FlashMeasurement flash, MeasureFlash("model.tsr"));      // a second or so
//   const FlashProfile::Speed& best = flash.profile.Best();                   // of {512 KiB, 1 MiB, 4 MiB} x {1, 2, 4, 8}
//   ASSIGN_OR_RETURN(flash, CachedFlash("model.tsr"));                        // measures once per file system and kernel
//
// What is read is what a streamer would read: the file itself, from its beginning on and again if it is smaller, into memory on
// large pages, through the same BlockReader, on a thread as a streamer has. All of that memory is read into by turns: what is read over
// and over into the same few megabytes stays in the processor's cache, where virtual disks write faster than a streamer ever sees.
// Shapes take turns, so that a disk whose speed changes favors none. Those with more in flight than the disk reads in 50 ms are left out:
// a streamer would not have so much there, and a caller that cancels waits for it. The cache has a text file per disk, in CacheFolder()
// (base/cache_folder.h); one that is damaged, of another kernel or file system (id, size, kind) or measured otherwise is measured anew.
// Nothing is logged; no process is forked and no priority raised unless the options say so. Thread-safe; two at a time measure each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/clock.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/open_block_device.h"

namespace tessera {

struct FlashProbeOptions {
  IoKind io = IoKind::kAuto;
  bool probe_in_child = false;                   // As OpenOptions has it.
  bool raise_priority = false;                   // As LayerStreamer::Options has it.
  int64_t bytes_per_shape = int64_t{256} << 20;  // Read for each size and depth, and for the plain read they are compared with.
  int64_t buffer_bytes = int64_t{32} << 20;      // Memory that it is read into. At least 32 MiB are taken: a deepest shape's.
  const std::atomic<bool>* cancel = nullptr;     // True ends it with Cancelled, once what is in flight has come. Null: never.
  // Wraps the device that all but the plain read is measured on: for tests. Null: the device as it is.
  std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = {};
  const Clock* clock = nullptr;  // That reads are timed by; must outlive the measurement. Null: the real one.
};

struct FlashMeasurement {
  FlashProfile profile = {};
  std::string kind = {};                   // The device's: "io_uring", ...
  double sequential_bytes_per_second = 0;  // With one read(2) after the other, 4 MiB each, as `dd iflag=direct` reads.
  double cpu_seconds_per_gib = 0;          // What the best shape took of the CPU, in all threads of the process.
  // From CachedFlash: "measured again: ..." if the cache is damaged, or "not kept: ..." if it cannot be written. OK: neither.
  absl::Status cache = {};
};

// Errors of opening and reading; Cancelled; InvalidArgument if the file has less than a block of the smallest size. Shapes for which it is
// too small are left out.
absl::StatusOr<FlashMeasurement> MeasureFlash(const std::string& path, const FlashProbeOptions& options = {});

// The same from the cache, if it holds this disk under this kernel. A cache that cannot be read or written is no error:
// FlashMeasurement::cache says so.
absl::StatusOr<FlashMeasurement> CachedFlash(const std::string& path, const FlashProbeOptions& options = {});

}  // namespace tessera
