// Opens a file for reading in blocks: the one place that chooses how.
//
//   ASSIGN_OR_RETURN(IoKind io, ParseIoKind("auto"));
//   ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(path, {.io = io, .buffers = arena.bytes()}));
//   LOG(INFO) << opened.reason;                    // "io_uring: deferred task work, file registered, buffers registered"
//
// auto takes the first of these that works: io_uring, threads with pread (both past the page cache), pread through the page
// cache. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/storage/block_device.h"

namespace tessera {

enum class IoKind { kAuto, kIoUring, kPread, kBuffered };

// "auto", "io_uring", "pread" or "buffered"; else WrongUsage (io) with these names.
absl::StatusOr<IoKind> ParseIoKind(absl::string_view name);
absl::string_view IoKindName(IoKind kind);

struct OpenOptions {
  IoKind io = IoKind::kAuto;
  int depth = 8;  // The most reads in flight. REQUIRES: 1 <= depth <= 4096.
  // Where reads will go, if known: io_uring is told of them, if the system lets us. They must outlive the device.
  absl::Span<std::byte> buffers = {};
};

struct OpenedDevice {
  std::unique_ptr<BlockDevice> device;
  std::string reason;  // For people and reports: what was chosen, and why nothing better.
};

// Errors of opening are those of RandomAccessFile::Open. FailedPrecondition (with the reason) if what was asked for by name is
// not to be had: only auto takes something else. The reason is logged, as a warning where auto
// came down to the page cache.
absl::StatusOr<OpenedDevice> OpenBlockDevice(const std::string& path, const OpenOptions& options = {});

}  // namespace tessera
