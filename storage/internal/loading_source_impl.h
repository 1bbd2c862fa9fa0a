// The state of a LoadingSource, and the rules between its threads.
//
//   auto source = std::make_unique<LoadingSource::Impl>(reader, std::move(memory), options);
//   source->StartThreads(options);
//
// A chunk is a few blocks of a unit. One thread reads a chunk from the first byte to the last. A chunk goes through states:
//
//   kUnread -> kReading -> kCached -> kMoving -> kMoved        found in the system's cache, checked there, copied later
//                       -> kRead                               read into private memory
//                       -> kUnread                             an error: the next thread that needs it tries again
//
// The code refers to these rules by number. Atomics are sequentially consistent.
//
//  1. One thread takes a chunk from kUnread to kReading, or from kCached to kMoving, by compare-and-exchange. Only this thread writes to
//     the chunk's private memory until it stores the next state. The thread stores that state after the bytes are there, and then notifies.
//     So a thread that loads kCached or a later state finds checked bytes in the cache, and one that loads kMoved or kRead finds checked
//     bytes in private memory. (Two threads that wrote to the same new large page at once would both clear the page; where chunks meet,
//     this can still happen.)
//  2. `unread_` counts the chunks that are not checked. The count falls after the state is stored. So a thread that sees 0 sees the bytes
//     of all chunks, and no longer asks for states.
//  3. `settling_` ends the use of the cache for all unread chunks. A reader stores kReading and then looks at `settling_`. A mover looks at
//     states after `settling_` was stored, and waits while a chunk is in kReading. So either the reader sees `settling_` and reads into
//     private memory, or the mover finds the reader's chunk in the cache, and moves the chunk.
//  4. `moved_` says that no chunk is in the cache alone. `moved_` is stored after a mover has passed over all chunks. `resident_` says that
//     all chunks are in private memory: `moved_` is true, and no chunk is unread. Neither becomes false again. Once `resident_` is true, a
//     lease skips all of this.
//  5. `cache_users_` counts the threads that read in the cache, movers aside, and the leases of cached pages. A user counts itself in and
//     then looks at `moved_`. If `moved_` is false, the user may read, and counts itself out afterwards; otherwise the user counts itself
//     out at once. The thread that counts out the last user while `moved_` is true, and still finds no user, returns the pages. This may
//     happen more than once. A user that was counted in before is still counted, and a later user reads nothing.
//  6. `next_` and `next_moved_` are tickets. Each number is given to one thread. The thread reads (or moves) that chunk if no other thread
//     has done so.
//  7. A borrowed attachment is put into `attachments_` before `moved_` is looked at. `moved_` is stored before the list is settled. So one
//     of the two settles the attachment.
//  8. `settle_mutex_` is held when `settling_` becomes true, so that a thread that waits for `settling_` misses no notice. `all_work_`
//     becomes true once, and wakes late threads.
//  9. The end: `unwanted_` makes every thread stop at its next block, and Settle wakes the threads that wait. The threads are joined before
//     any state is destroyed. Attachments are settled, since they may outlive the source.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/storage/internal/borrowed_pages.h"
#include "tessera/storage/internal/settling_bytes.h"
#include "tessera/storage/loading_source.h"
#include "tessera/storage/resident_source.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

class LoadingSource::Impl final : public LoadingSource {
 public:
  Impl(const TsrReader& reader, std::unique_ptr<ResidentSource> memory, const Options& options);
  ~Impl() override;
  void StartThreads(const Options& options);

  int units() const override { return memory_->units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;
  absl::Status AwaitChecked() override;
  absl::Status AwaitResident() override;
  double LoadingSeconds() const override { return static_cast<double>(waited_ns_) * 1e-9; }
  std::vector<std::string> Shortages() const override;
  absl::StatusOr<SharedBytes> ReadAttachment(absl::string_view name) override;

 private:
  // kCached: checked, in the system's cache. kMoving: there, and being copied. kMoved: in both. kRead: in private memory alone.
  enum State : int { kUnread, kReading, kCached, kMoving, kMoved, kRead };
  struct Chunk {
    Chunk(int unit, int64_t first_block, int64_t blocks) : unit(unit), first_block(first_block), blocks(blocks) {}
    const int unit;
    const int64_t first_block, blocks;
    std::atomic<State> state = kUnread;
  };
  struct Range { int64_t begin, end; };  // In chunks_.
  static constexpr int64_t kBlocksPerChunk = 4, kChunkBytes = kBlocksPerChunk * kTsrBlockBytes;

  static int64_t Now() { return RealClock().NowNanos(); }   // Real time: the system counts in real time how long a writer waits for us.
  void Release(int unit, absl::Span<const std::byte> bytes) override;
  void Work(bool late);
  void CallLateThreads();
  void AwaitSettling();
  Range ChunksOf(const UnitPart& part) const;
  int64_t OffsetInUnit(const Chunk& chunk) const;
  absl::Span<std::byte> OwnBytes(const Chunk& chunk) const;
  absl::Span<const std::byte> CachedBytes(const Chunk& chunk) const;
  bool All(Range range, bool (*is)(State)) const;
  absl::StatusOr<WeightLease> Lease(const UnitPart& part);

  // Returns when the chunks are checked, or with the first error of one.
  absl::Status Need(Range range);
  absl::Status WaitFor(Range range);
  // Reads the chunk if no thread does or did. Cancelled, at the next block, once `cancel` is true.
  absl::Status ReadIfUnread(Chunk& chunk, const std::atomic<bool>& cancel);
  absl::Status ReadBlocks(const Chunk& chunk, const std::atomic<bool>& cancel);
  bool FindInCache(const Chunk& chunk, const std::atomic<bool>& cancel);

  // Ends the use of the cache for unread chunks, and has cached chunks moved (3).
  void Settle();
  // Returns when the chunks, if checked, are in private memory.
  void Move(Range range);
  void MoveIfCached(Chunk& chunk);
  void MoveAll();
  // Called before and after by a thread that reads in the cache, but does not move (5). False: all is moved, or there is no cache.
  bool EnterCache();
  void LeaveCache();
  // Returns null if the cache lacks the attachment, or the attachment cannot be mapped or is damaged. REQUIRES: after EnterCache, before
  // LeaveCache.
  std::shared_ptr<SettlingBytes> BorrowAttachment(absl::string_view name, const TsrReader::Place& place);
  void SettleAttachments();
  void ReturnPages();  // Once all cached chunks are moved; the pages of leases are returned with the last lease.
  void AddShortage(std::string shortage);

  const TsrReader& reader_;
  const std::unique_ptr<ResidentSource> memory_;
  std::deque<Chunk> chunks_;
  std::vector<int64_t> first_of_unit_;
  std::atomic<int64_t> unread_ = 0;                // (2)
  std::atomic<bool> resident_ = false;             // (4)
  std::atomic<bool> all_work_ = false;             // Late threads, too (8).
  std::atomic<int64_t> next_ = 0, next_moved_ = 0; // The chunk for the next thread that looks for one (6).
  std::atomic<int64_t> waited_ns_ = 0;
  std::atomic<bool> unwanted_ = false;             // (9)
  const std::atomic<bool> never_ = false;
  const std::atomic<bool>& cancel_;

  const std::unique_ptr<BorrowedPages> cache_;     // Null: there is none.
  std::atomic<int64_t> cache_users_ = 0;           // (5)
  std::atomic<bool> asked_ = false;                // By AwaitChecked: the first pass is over.
  std::atomic<bool> settling_ = false, moved_ = false;  // (3), (4)
  const int64_t borrowed_until_;                   // On the real clock.
  std::mutex attachments_mutex_;
  std::vector<std::shared_ptr<SettlingBytes>> attachments_;  // Still borrowed (7).
  mutable std::mutex shortages_mutex_;
  std::vector<std::string> shortages_;
  std::mutex settle_mutex_;                        // (8)
  std::condition_variable settled_;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
