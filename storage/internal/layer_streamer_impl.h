// The state of a LayerStreamer, and who may touch what of it: one thread reads (layer_streamer_reads.cc), others acquire and release
// (layer_streamer.cc).
//
//   auto impl = std::make_unique<LayerStreamer::Impl>(file, std::move(options));
//   RETURN_IF_ERROR(impl->Start());                      // from here on the reading thread runs
//   RETURN_IF_ERROR(impl->AwaitPins());
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/internal/block_checker.h"
#include "tessera/storage/internal/parts_reader.h"
#include "tessera/storage/internal/unit_ring.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {

// What both threads see is under mutex_, but for what never changes after Start: file, options, where pins end and the ring begins.
class LayerStreamer::Impl {
 public:
  Impl(const TsrReader& file, Options options)
      : file_(file), options_(std::move(options)), ring_(options_.ring_bytes), checker_(file, options_.verify) {}
  ~Impl();

  absl::Status Start();
  absl::Status AwaitPins();
  int units() const { return file_.units(); }
  absl::StatusOr<absl::Span<const std::byte>> Acquire(int unit);
  absl::StatusOr<std::vector<absl::Span<const std::byte>>> AcquireParts(absl::Span<const UnitPart> parts);
  void Release(int unit, const std::byte* place);
  absl::Status Unpin(absl::Span<const int> units);
  bool IsPin(const std::byte* place) const { return place >= buffer_.data() && place < buffer_.data() + options_.pins.bytes; }
  Stats stats() const;
  const std::string& reason() const { return reason_; }

 private:
  struct Pin {
    bool pinned = false;
    std::byte* place = nullptr;  // Null: its memory is not ours, or no longer.
    int leases = 0;
  };

  absl::Status CheckOptions() const;
  absl::Status CheckUnpin(absl::Span<const int> units) const;
  void PlacePins();
  void OrderStreamed();
  bool Pinned(int unit) const { return pin_of_[unit].pinned; }
  bool PartsOnly(int unit) const { return !options_.parts_only.empty() && options_.parts_only[unit]; }
  absl::Span<const std::byte> LeasePin(int unit);
  void EndPinLease(int unit);
  void GiveBackUnused(int unit);
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  std::byte* RingPlace(int64_t offset) { return buffer_.data() + options_.pins.bytes + offset; }
  bool ReadNextIs(int unit) const { return !order_.empty() && order_[next_] == unit; }
  void Advance() { next_ = next_ + 1 == order_.size() ? 0 : next_ + 1; }
  void ReadFrom(int unit);
  std::optional<absl::StatusOr<absl::Span<const std::byte>>> Take(int unit);
  absl::StatusOr<absl::Span<const std::byte>> AwaitUnit(int unit, std::unique_lock<std::mutex>& lock);
  absl::Status AwaitParts(std::unique_lock<std::mutex>& lock);
  absl::Status ReadParts(std::vector<UnitPart> parts, std::unique_lock<std::mutex>& lock);

  // Of the thread that reads.
  void Read();
  void StartReads();
  bool StartPin();
  bool StartNext();
  void StartUnit(int unit, std::byte* place);
  absl::Status Judge(const absl::Status& read);
  void Finish(const BlockReader::Finished& finished);
  void CountReads();
  void FinishPin(int unit, const absl::Status& status);
  void FinishStreamed(int unit, const absl::Status& status);

  const TsrReader& file_;
  const Options options_;
  AlignedBuffer buffer_;                     // Pins, ring, parts.
  std::string reason_;
  std::unique_ptr<BlockDevice> device_;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;             // For the thread that reads: there may be something to do.
  std::condition_variable changed_;          // For those who wait for it.
  bool stop_ = false;
  std::vector<Pin> pin_of_;                  // Of each unit.
  absl::Status broken_;                      // Not OK: nothing can be read any more.
  std::vector<int> order_;                   // Streamed units, as a pass reads them.
  std::vector<int> position_;                // Of each unit in order_.
  size_t next_ = 0;                          // In order_: the next to be read.
  UnitRing ring_;
  bool no_room_ = false;                     // For the next, when last looked.
  std::vector<int> pins_;                    // Units to pin, in order.
  size_t pins_started_ = 0, pins_finished_ = 0;
  int64_t pinned_bytes_ = 0;                 // Of those that are there.
  int units_reading_ = 0;
  std::vector<UnitPart> parts_asked_;        // To be read; empty once they are.
  bool parts_begun_ = false;
  int parts_leased_ = 0;
  std::optional<PartsReader> parts_;
  Stats stats_;

  BlockChecker checker_;                     // Both of the thread that reads alone: it uses them without the mutex.
  std::optional<BlockReader> reader_;
};

}  // namespace tessera
