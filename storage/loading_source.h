// Weights of a packed file that come into memory, and stay there, while the first pass computes: a lease waits for its own bytes alone.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadingSource> source, LoadingSource::Start(*reader, {.threads = 4}));   // of a TsrReader
//   ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(0));   // read by now, and checked
//   RETURN_IF_ERROR(source->AwaitResident());                  // for who wants all of it first
//
// Threads of its own read, in the order of a pass, stretches of a few blocks. Who needs one that nobody reads yet, reads it itself; so
// a system that gives no thread makes this slower, and nothing else. What could not be read is tried again by who needs it, who gets
// the error: those of TsrReader::ReadBlock. The reader must outlive the source, whose end waits for the block that each thread
// reads, not for the rest. Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "tessera/storage/resident_source.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

class LoadingSource : public WeightSource {
 public:
  struct Options {
    int threads = 4;
    // True ends a wait at the next block, with Cancelled; the source's own threads read on. Must outlive it. Null: never.
    const std::atomic<bool>* cancel = nullptr;
  };
  // ResourceExhausted (file, bytes) if the units do not fit in memory. REQUIRES: the reader is not direct().
  static absl::StatusOr<std::unique_ptr<LoadingSource>> Start(const TsrReader& reader, const Options& options);
  ~LoadingSource() override;

  int units() const override { return memory_->units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override;
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override;
  absl::Status AwaitResident() override { return Need(0, stretches_.size()); }
  double LoadingSeconds() const override { return static_cast<double>(waited_ns_) * 1e-9; }

 private:
  enum State : int { kUnread, kReading, kRead };
  // Read by one thread from its first byte to its last: two that wrote to the same new large page at once, as they may still where
  // stretches meet, would both clear it.
  struct Stretch {
    Stretch(int unit, int64_t first_block, int64_t blocks) : unit(unit), first_block(first_block), blocks(blocks) {}
    const int unit;
    const int64_t first_block, blocks;
    std::atomic<State> state = kUnread;
  };
  static constexpr int64_t kBlocksOfStretch = 4;

  LoadingSource(const TsrReader& reader, std::unique_ptr<ResidentSource> memory, const std::atomic<bool>* cancel);
  void Release(int, absl::Span<const std::byte>) override {}
  void ReadInOrder();
  // The stretch that has the byte at `offset` of a unit.
  int64_t StretchAt(int unit, int64_t offset) const { return first_of_unit_[unit] + offset / (kBlocksOfStretch * kTsrBlockBytes); }
  // Returns when stretches [begin, end) are read, or with the first error of one.
  absl::Status Need(int64_t begin, int64_t end);
  absl::Status WaitFor(int64_t begin, int64_t end);
  // Reads the stretch if nobody does or did. Cancelled, at the next block, once `cancel` is true.
  absl::Status ReadIfUnread(Stretch& stretch, const std::atomic<bool>& cancel);
  absl::Status ReadBlocks(const Stretch& stretch, const std::atomic<bool>& cancel);

  const TsrReader& reader_;
  const std::unique_ptr<ResidentSource> memory_;
  std::deque<Stretch> stretches_;
  std::vector<int64_t> first_of_unit_;
  // Stretches that are not read; when there are none, nobody asks for states. Each is counted once its bytes are there, and who
  // sees the last count sees, by the order of these, the bytes of all.
  std::atomic<int64_t> unread_ = 0;
  std::atomic<int64_t> next_ = 0;     // Stretch for the next thread that looks for one.
  std::atomic<int64_t> waited_ns_ = 0;
  std::atomic<bool> unwanted_ = false;
  const std::atomic<bool> never_ = false;
  const std::atomic<bool>& cancel_;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
