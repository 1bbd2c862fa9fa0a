// Weights of a packed file that come into memory, and stay there, while the first pass computes: a lease waits for its own bytes alone.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadingSource> source, LoadingSource::Start(*reader, {.threads = 4}));   // of a TsrReader
//   ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(0));   // read by now, and checked
//   ASSIGN_OR_RETURN(SharedBytes header, source->ReadAttachment("gguf"));
//   RETURN_IF_ERROR(source->AwaitChecked());                   // for who wants to know that all of it is as it should be
//   RETURN_IF_ERROR(source->AwaitResident());                  // for who wants it where it stays
//
// Threads of its own read, in the order of a pass, stretches of a few blocks. Who needs one that nobody reads yet, reads it itself; so
// a system that gives no thread makes this slower, and nothing else. What could not be read is tried again by who needs it, who gets
// the error: those of TsrReader::ReadBlock.
//
// A file that is in the system's cache is checked there, and its pages are leased as they are at first (internal/borrowed_pages.h): the
// first pass waits for no copies, which take longer than all else. Memory of our own is read faster, and is nobody else's, so the
// threads move everything there with the first lease after AwaitChecked, which is not that of the first token, with AwaitResident, or
// when a second has passed; who wants to write to the file waits until they have.
//
// The reader must outlive the source, whose end waits for the block that each thread reads, not for the rest. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tessera/base/shared_bytes.h"
#include "tessera/storage/resident_source.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

class BorrowedPages;
class SettlingBytes;

class LoadingSource : public WeightSource {
 public:
  struct Options {
    int threads = 4;
    // Of these, so many, but not the first, begin only once something has to come from the disk, or a lease waits: until then they would
    // take a CPU from who makes ready what comes before the first lease.
    int late_threads = 0;
    // True ends a wait at the next block, with Cancelled; the source's own threads read on. Must outlive it. Null: never.
    const std::atomic<bool>* cancel = nullptr;
    // Nanoseconds for which a file is borrowed at most, without a word from who computes, or where much has to come from the disk.
    int64_t longest_borrowed = 1'000'000'000;
  };
  // ResourceExhausted (file, bytes) if the units do not fit in memory. REQUIRES: the reader is not direct(), and has one such source
  // at a time.
  static absl::StatusOr<std::unique_ptr<LoadingSource>> Start(const TsrReader& reader, const Options& options);
  ~LoadingSource() override;

  int units() const override { return memory_->units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;
  absl::Status AwaitChecked() override;
  absl::Status AwaitResident() override;
  // As TsrReader has it, but without a copy while the file is borrowed: with the last weights it moves to memory of our own, where its
  // addresses stay the same. It may outlive the source.
  absl::StatusOr<SharedBytes> ReadAttachment(absl::string_view name);
  double LoadingSeconds() const override { return static_cast<double>(waited_ns_) * 1e-9; }

 private:
  // kCached: checked, in the system's cache. kMoving: there, and being copied. kMoved: in both. kRead: in memory of our own alone.
  enum State : int { kUnread, kReading, kCached, kMoving, kMoved, kRead };
  // Read by one thread from its first byte to its last: two that wrote to the same new large page at once, as they may still where
  // stretches meet, would both clear it.
  struct Stretch {
    Stretch(int unit, int64_t first_block, int64_t blocks) : unit(unit), first_block(first_block), blocks(blocks) {}
    const int unit;
    const int64_t first_block, blocks;
    std::atomic<State> state = kUnread;
  };
  struct Range { int64_t begin, end; };  // Of stretches.
  static constexpr int64_t kBlocksOfStretch = 4, kStretchBytes = kBlocksOfStretch * kTsrBlockBytes;

  LoadingSource(const TsrReader& reader, std::unique_ptr<ResidentSource> memory, const Options& options);
  void Release(int unit, absl::Span<const std::byte> bytes) override;
  void Work(bool late);
  void CallLateThreads();
  void AwaitSettling();
  Range StretchesOf(const UnitPart& part) const;
  int64_t OffsetInUnit(const Stretch& stretch) const;
  absl::Span<std::byte> OwnBytes(const Stretch& stretch) const;
  absl::Span<const std::byte> CachedBytes(const Stretch& stretch) const;
  bool All(Range range, bool (*is)(State)) const;
  absl::StatusOr<WeightLease> Lease(const UnitPart& part);

  // Returns when the stretches are checked, or with the first error of one.
  absl::Status Need(Range range);
  absl::Status WaitFor(Range range);
  // Reads the stretch if nobody does or did. Cancelled, at the next block, once `cancel` is true.
  absl::Status ReadIfUnread(Stretch& stretch, const std::atomic<bool>& cancel);
  absl::Status ReadBlocks(const Stretch& stretch, const std::atomic<bool>& cancel);
  bool FindInCache(const Stretch& stretch, const std::atomic<bool>& cancel);

  // From now on nothing more is looked for in the cache, and what was found there is moved.
  void Settle();
  // Returns when the stretches, where they were checked, are in memory of our own.
  void Move(Range range);
  void MoveIfCached(Stretch& stretch);
  void MoveAll();
  // Whoever reads in the cache, but for who moves, enters before and leaves after. False: all that was there is moved, or there was none.
  bool EnterCache();
  void LeaveCache();
  // Null if the cache does not have it, or it is not as it should be. REQUIRES: after EnterCache, before LeaveCache.
  std::shared_ptr<SettlingBytes> BorrowAttachment(absl::string_view name, const TsrReader::Place& place);
  void SettleAttachments();
  void ReturnPages();  // Once all that was found there is moved; what is leased still is returned with the last lease.

  const TsrReader& reader_;
  const std::unique_ptr<ResidentSource> memory_;
  std::deque<Stretch> stretches_;
  std::vector<int64_t> first_of_unit_;
  // Stretches that are not checked; when there are none, nobody asks for states. Each is counted once its bytes are there, and who
  // sees the last count sees, by the order of these, the bytes of all.
  std::atomic<int64_t> unread_ = 0;
  std::atomic<bool> resident_ = false;             // All is in memory of our own.
  std::atomic<bool> all_work_ = false;             // Late threads, too.
  std::atomic<int64_t> next_ = 0, next_moved_ = 0; // Stretch for the next thread that looks for one.
  std::atomic<int64_t> waited_ns_ = 0;
  std::atomic<bool> unwanted_ = false;
  const std::atomic<bool> never_ = false;
  const std::atomic<bool>& cancel_;

  const std::unique_ptr<BorrowedPages> cache_;     // Null: there is none.
  std::atomic<int64_t> cache_users_ = 0;
  std::atomic<bool> asked_ = false;                // By AwaitChecked: the first pass is over.
  std::atomic<bool> settling_ = false, moved_ = false;
  const int64_t borrowed_until_;                   // On the real clock.
  std::mutex attachments_mutex_;
  std::vector<std::shared_ptr<SettlingBytes>> attachments_;  // That are the file's still.
  std::mutex settle_mutex_;                        // With which a thread waits for `settling_`.
  std::condition_variable settled_;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
