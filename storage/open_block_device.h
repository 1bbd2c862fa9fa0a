// Makes a device of an open file, for reading it in blocks: the one place that chooses how.
//
//   ASSIGN_OR_RETURN(IoKind io, ParseIoKind("auto"));
//   ASSIGN_OR_RETURN(std::shared_ptr<const RandomAccessFile> file, RandomAccessFile::Open(path));
//   ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(file, {.io = io, .buffers = arena.bytes()}));
//   if (opened.io == IoKind::kBuffered) Warn(opened.reason);        // "buffered: O_DIRECT: Invalid argument"
//
// kAuto takes the first of these that works: io_uring, threads with pread (both past the page cache), pread through the page cache. It
// leaves io_uring out unless OpenOptions::probe_in_child is on, for some systems end a process that asks for it. Nothing is logged.
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/file.h"
#include "tessera/storage/block_device.h"

namespace tessera {

enum class IoKind { kAuto, kIoUring, kPread, kBuffered };

// "auto", "io_uring", "pread" or "buffered"; else WrongUsage (io) with these names.
absl::StatusOr<IoKind> ParseIoKind(absl::string_view name);
absl::string_view IoKindName(IoKind kind);

struct OpenOptions {
  IoKind io = IoKind::kAuto;
  // Forks, and has the child find out whether this process may use io_uring. A system call filter (seccomp: containers, Android) may kill
  // a process that tries, and then kills the child alone. The fork copies page tables and runs the handlers of pthread_atfork; the child
  // allocates nothing, takes no lock, and is waited for: less than a millisecond, two seconds at most. Off: kAuto takes kPread or
  // kBuffered, and kIoUring asks the system in this process, which the caller must know to be allowed.
  bool probe_in_child = false;
  int depth = 8;  // The most reads in flight. REQUIRES: 1 <= depth <= 4096.
  // Where reads will go, if known: io_uring is told of them, if the system lets us. They must outlive the device.
  absl::Span<std::byte> buffers = {};
};

struct OpenedDevice {
  std::unique_ptr<BlockDevice> device = {};
  IoKind io = IoKind::kAuto;  // What was chosen: one of the others. kBuffered where kAuto was asked for takes memory, and is slow.
  std::string reason = {};    // For people and reports: what was chosen, and why nothing better.
};

// The device reads this file, whatever its path leads to by now. FailedPrecondition (with the reason) if what was asked for by name is not
// to be had: only kAuto takes something else.
absl::StatusOr<OpenedDevice> OpenBlockDevice(const std::shared_ptr<const RandomAccessFile>& file, const OpenOptions& options = {});

}  // namespace tessera
