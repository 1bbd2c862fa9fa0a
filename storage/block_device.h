// A file read in aligned blocks, several at a time, past the page cache where the system allows it.
//
//   ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(file, {.buffers = arena.bytes()}));   // open_block_device.h
//   BlockDevice& device = *opened.device;
//   RETURN_IF_ERROR(device.Submit({.offset = 0, .out = arena.bytes().first(1 << 20), .tag = 7}));
//   std::vector<BlockDevice::Completion> done;
//   RETURN_IF_ERROR(device.Wait(done));              // done[0]: tag 7, and how many bytes came or what went wrong
//
// A device reports the system's answer and no more: fewer bytes than requested, EINTR, EIO. BlockReader (block_reader.h) decides how to
// react to these answers. Most callers want BlockReader instead.
// Threads: any thread may open the device. From the first Submit on, one thread submits, waits and destroys. Destroying waits for the reads
// in flight: until then the system may write into the buffers.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class BlockDevice {
 public:
  // Every offset, size and address is a multiple of this. Some file systems need only 512. A file system that needs more is read through
  // the page cache.
  static constexpr int64_t kAlignment = 4096;

  struct Read {
    int64_t offset = 0;             // In the file.
    absl::Span<std::byte> out = {};  // Not empty. Must stay until the read completes.
    uint64_t tag = 0;               // Comes back with the completion.
  };
  struct Completion {
    uint64_t tag = 0;
    int64_t result = 0;  // Bytes read, perhaps fewer than requested and no multiple of kAlignment; 0 at the end of the file; -errno.
  };

  virtual ~BlockDevice() = default;
  virtual const std::string& path() const = 0;
  virtual absl::string_view kind() const = 0;  // For reports: "io_uring", "pread", "buffered".
  virtual int64_t size() const = 0;            // The file's size at opening.
  virtual int depth() const = 0;               // Most reads in flight at once.

  // Starts a read. An error means that this device can read no more. Errors of a read come with the read's completion.
  // REQUIRES: fewer than depth() in flight, alignment as above.
  virtual absl::Status Submit(const Read& read) = 0;

  // Waits until a read completes, and appends all completed reads, in any order. An error means the same as for Submit.
  // REQUIRES: at least one read is in flight.
  virtual absl::Status Wait(std::vector<Completion>& done) = 0;

  // Reads by another way, through the page cache (and out of the cache again) and within this call. This is the second chance of a read
  // that was refused or whose checksum is wrong. Returns bytes read, or -errno. May be called while reads are in flight.
  virtual int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) = 0;

  // Checks for changes as RandomAccessFile does: FailedPrecondition (path, field, old, new) if the file was written to, or became shorter
  // or longer. A file that was deleted or replaced by a new one is unchanged: the old one stays until closed. Takes about a microsecond.
  virtual absl::Status CheckUnchanged() = 0;
};

// Returns whether the system would not read now, but may read at a second request.
inline bool IsInterruption(int error) { return error == EINTR || error == EAGAIN || error == EBUSY || error == ENOMEM; }

}  // namespace tessera
