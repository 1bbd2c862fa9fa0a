// Makes a device of an open file, for reading in blocks. This is the one place that chooses how to read.
//
//   ASSIGN_OR_RETURN(IoKind io, ParseIoKind("auto"));
//   ASSIGN_OR_RETURN(std::shared_ptr<const RandomAccessFile> file, RandomAccessFile::Open(path));
//   ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(file, {.io = io, .buffers = arena.bytes()}));
//   if (opened.io == IoKind::kBuffered) Warn(opened.reason);        // "buffered: O_DIRECT: Invalid argument"
//
// kAuto takes the first way that works: io_uring, threads with pread (both past the page cache), pread through the page cache. kAuto skips
// io_uring unless OpenOptions::probe_in_child is on, since some systems end a process that asks for io_uring. Nothing is logged.
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/file.h"
#include "tessera/storage/block_device.h"

namespace tessera {

enum class IoKind { kAuto, kIoUring, kPread, kBuffered };

// Parses "auto", "io_uring", "pread" or "buffered". Any other name is WrongUsage (io) with these names.
absl::StatusOr<IoKind> ParseIoKind(absl::string_view name);
absl::string_view IoKindName(IoKind kind);

struct OpenOptions {
  IoKind io = IoKind::kAuto;
  // Forks, and has the child find out whether this process may use io_uring. A system call filter (seccomp: containers, Android) may kill a
  // process that tries; then only the child dies. The fork copies page tables and runs the handlers of pthread_atfork. The child allocates
  // nothing and takes no lock. The parent waits for the child: less than a millisecond, two seconds at most. Off: kAuto takes kPread or
  // kBuffered, and kIoUring asks the system in this process; the caller must know that asking is allowed.
  bool probe_in_child = false;
  int depth = 8;  // The most reads in flight. REQUIRES: 1 <= depth <= 4096.
  // The targets of reads, if known; registered with io_uring, if the system allows registration. Must outlive the device.
  absl::Span<std::byte> buffers = {};
};

struct OpenedDevice {
  std::unique_ptr<BlockDevice> device = {};
  IoKind io = IoKind::kAuto;  // The choice, never kAuto. kBuffered, if kAuto was requested, takes memory, and is slow.
  std::string reason = {};    // For people and reports: the choice, and why nothing better.
};

// Opens a device for this open file; a new file at the same path does not matter. FailedPrecondition (with the reason) if a kind requested
// by name is unavailable: only kAuto takes another kind.
absl::StatusOr<OpenedDevice> OpenBlockDevice(const std::shared_ptr<const RandomAccessFile>& file, const OpenOptions& options = {});

}  // namespace tessera
