// Measures how fast this machine reads a file past the page cache, in blocks of several sizes with several of them in flight.
//
//   ASSIGN_OR_RETURN(FlashMeasurement flash, MeasureFlash("model.tsr"));      // a second or so
//   const FlashProfile::Speed& best = flash.profile.Best();                   // of {512 KiB, 1 MiB, 4 MiB} x {1, 2, 4, 8}
//   ASSIGN_OR_RETURN(flash, CachedFlash("model.tsr"));                        // measures once per file system and kernel
//
// The probe reads as a streamer would: into memory on large pages, through the same BlockReader, on a thread as a streamer has. The probe
// reads the file itself, from the beginning, and again if the file is smaller than the bytes to read. The reads go through all of that
// memory in turn. If the reads went into the same few megabytes over and over, the data would stay in the processor's cache. Virtual disks
// write into that cache faster than a streamer ever sees. Shapes take turns, so that a disk whose speed changes favors none. Shapes with
// more in flight than the disk reads in 50 ms are left out: a streamer would have less in flight, and a caller that cancels waits for the
// reads.
//
// The cache has a text file per disk, in CacheFolder() (base/cache_folder.h). A file that is damaged, of another kernel or file system (id,
// size, kind) or measured otherwise is measured anew. Nothing is logged; no process is forked and no priority raised unless the options say
// so. Thread-safe; two probes at a time measure each other.
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
  bool probe_in_child = false;                   // As in OpenOptions.
  bool raise_priority = false;                   // As in LayerStreamer::Options.
  int64_t bytes_per_shape = int64_t{256} << 20;  // Read for each size and depth, and for the plain read that is compared.
  int64_t buffer_bytes = int64_t{32} << 20;      // Memory for the reads. At least 32 MiB are taken: a deepest shape's.
  const std::atomic<bool>* cancel = nullptr;     // True ends the probe with Cancelled, once reads in flight have come. Null: never.
  // Wraps the device of all reads except the plain read: for tests. Null: the device as opened.
  std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = {};
  const Clock* clock = nullptr;  // Times the reads; must outlive the measurement. Null: the real one.
};

struct FlashMeasurement {
  FlashProfile profile = {};
  std::string kind = {};                   // The device's: "io_uring", ...
  double sequential_bytes_per_second = 0;  // With one read(2) after the other, 4 MiB each, as `dd iflag=direct` reads.
  double cpu_seconds_per_gib = 0;          // The CPU time of the best shape, in all threads of the process.
  // From CachedFlash: "measured again: ..." if the cache is damaged, or "not kept: ..." if it cannot be written. OK: neither.
  absl::Status cache = {};
};

// Measures. Errors of opening and reading; Cancelled; InvalidArgument if the file has less than a block of the smallest size. Shapes that
// need a larger file are left out.
absl::StatusOr<FlashMeasurement> MeasureFlash(const std::string& path, const FlashProbeOptions& options = {});

// Returns the measurement from the cache, if there is one of this disk under this kernel; else measures. A cache that cannot be read or
// written is no error: FlashMeasurement::cache says so.
absl::StatusOr<FlashMeasurement> CachedFlash(const std::string& path, const FlashProbeOptions& options = {});

}  // namespace tessera
