// Reads extents of a file (units of weights, many blocks each): whole, or an error with cause and place. Keeps the device busy.
//
//   BlockReader reader(*opened.device, {.check = check});          // check(offset, block): is this what should be there?
//   reader.Start({.offset = 0, .out = arena.bytes().first(16 << 20), .id = 1});
//   reader.Start({.offset = 16 << 20, .out = arena.bytes().subspan(16 << 20, 16 << 20), .id = 2});
//   while (reader.unfinished() > 0) {
//     const BlockReader::Finished finished = reader.Next();        // In any order; more may be started at any time.
//     RETURN_IF_ERROR(finished.status);
//   }
//
// Each result of a device, and the reader's reaction:
//   fewer bytes than asked          the rest is asked for, from the last aligned byte on; when not one aligned byte came for the
//                                   third time, by BlockDevice::ReadPlain
//   EINTR, EAGAIN, EBUSY, ENOMEM    asked again after a pause, 10 microseconds at first and 10 ms in the end; an error after 100
//   EINVAL                          read once by BlockDevice::ReadPlain
//   EIO                             three tries
//   nothing, before the end         an error at once: the file was cut short
//   check says no                   what was checked is read once by BlockDevice::ReadPlain and checked again
// Errors: Unavailable (place, bytes, the system's message) if the block could not be read, DataLoss if the file was cut short, and the
// error of `check` (with path and bytes before it) if `check` failed twice. An error ends that extent alone: the next may succeed.
// Lifetime: when an extent is finished, nothing writes to its buffer any more. There is one exception. A device that fails for good (an
// error of Submit or Wait) ends every extent with its error. Reads in flight may then still write until that memory is unmapped.
// Threads: the device's thread; the device must outlive the reader. Destroying waits for reads in flight and forgets the rest.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/storage/block_device.h"

namespace tessera {

class BlockReader {
 public:
  struct Options {
    int64_t block_bytes = int64_t{1} << 20;  // An extent is read in blocks of this size; its last may be smaller.
    int64_t check_bytes = 0;                 // Bytes of a block checked at once; the last check may have fewer. 0: whole blocks.
    // Called with the bytes of a read, on the thread of Step, while other reads are in flight. Null: nothing is checked.
    std::function<absl::Status(int64_t offset, absl::Span<const std::byte> bytes)> check = {};
    // For messages: describes the place, the file's path before it. Null: the path alone.
    std::function<std::string(int64_t offset)> describe = {};
    // The most time that waiting for all reads in flight should take. A slow device is given fewer bytes at once, but always one block. The
    // number of blocks is learnt from the time that blocks take; two at first. 0: as many as the device takes.
    int64_t most_drain_nanos = 0;
    const Clock* clock = nullptr;  // Null: the real one. Must outlive the reader.
    std::function<void(int64_t nanos)> sleep = SleepNanos;
  };
  struct Extent {
    int64_t offset = 0;
    absl::Span<std::byte> out = {};
    uint64_t id = 0;  // Returned in Finished.
  };
  struct Finished {
    uint64_t id = 0;
    absl::Status status = {};
  };
  struct Counters {  // Since the beginning.
    int64_t bytes = 0;          // In blocks that came.
    int64_t reads = 0;          // Asked of the device.
    int64_t short_reads = 0;
    int64_t interruptions = 0;  // EINTR, EAGAIN, EBUSY, ENOMEM.
    int64_t io_errors = 0;      // All others.
    int64_t plain_reads = 0;    // Blocks, or parts of blocks, read by ReadPlain.
    int64_t mismatches = 0;     // Times that `check` failed.
    int64_t wait_nanos = 0;     // Spent waiting for the device.
  };

  // REQUIRES: block_bytes > 0 and check_bytes >= 0 are multiples of BlockDevice::kAlignment.
  BlockReader(BlockDevice& device, Options options);
  explicit BlockReader(BlockDevice& device) : BlockReader(device, Options()) {}
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Starts to read the extent after the extents started before. Returns at once. REQUIRES: the extent lies within the file; offset, size
  // and address are multiples of BlockDevice::kAlignment.
  void Start(const Extent& extent);

  int64_t unfinished() const { return static_cast<int64_t>(extents_.size() + finished_.size()); }  // Started, not handed out.

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }  // Blocks not yet requested from the device.

  // Gives the device all it can take, and waits for progress: some blocks came, perhaps an extent is finished. REQUIRES: unfinished() > 0.
  std::optional<Finished> Step();
  // Like Step, until an extent is finished.
  Finished Next();

  const Counters& counters() const { return counters_; }

 private:
  struct Reading {  // An extent.
    Extent extent;
    int64_t blocks_left;
    absl::Status status;  // Once not OK, blocks that are not in flight are dropped.
  };
  struct Block {
    std::list<Reading>::iterator reading;
    int64_t offset;
    absl::Span<std::byte> out;
    int64_t done = 0;          // Bytes from the beginning that came.
    int64_t most = INT64_MAX;  // Most bytes per request.
    int interruptions = 0, errors = 0;  // Since a byte came.
    int64_t not_before = 0;    // On the clock.
    int64_t submitted = 0;     // On the clock,
    int64_t in_flight = 0;     // and bytes in flight then, this block included.
  };
  enum class Outcome { kWhole, kAgain, kFailed };

  bool MayTake(const Block& block) const;
  void Submit();
  void Learn(const Block& block);
  void Drain();
  void Collect();
  void AwaitDelayed();
  Outcome Judge(Block& block, int64_t result);
  Outcome JudgeShort(Block& block, int64_t result);
  Outcome JudgeError(Block& block, int error);
  Outcome Fail(const Block& block, absl::Status status);
  void Check(const Block& block);
  absl::Status CheckPiece(const Block& piece);
  absl::Status ReadPlainly(const Block& block);
  void Finish(const Block& block);
  void Drop(std::list<Reading>::iterator reading);
  void FailAll(const absl::Status& status);
  std::string Where(const Block& block, absl::string_view what) const;
  std::string Described(const Block& block) const;
  absl::Status TooShort(const Block& block, int64_t from) const;
  absl::Status Unreadable(const Block& block, int error) const;

  BlockDevice& device_;
  Options options_;
  const Clock* const clock_;
  std::list<Reading> extents_;
  std::deque<Block> waiting_;     // In the order of requests.
  std::vector<Block> delayed_;    // Go before `waiting_`, each at its time.
  std::vector<Block> in_flight_;  // By tag; unused for tags in free_tags_.
  std::vector<uint64_t> free_tags_;
  std::vector<BlockDevice::Completion> done_;   // By the last Wait; its memory stays.
  int64_t bytes_in_flight_ = 0, most_bytes_in_flight_;
  std::deque<Finished> finished_;
  absl::Status device_status_;    // Not OK: the device reads no more.
  Counters counters_;
};

}  // namespace tessera
