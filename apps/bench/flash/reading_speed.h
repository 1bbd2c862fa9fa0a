// Streams a packed model's units without computing, to measure the speed and the CPU time, or in the background of another measurement.
//
//   ASSIGN_OR_RETURN(ReadingSpeed alone, TimeReading(*file, {.io = IoKind::kAuto, .ring_bytes = 64 << 20}));
//
//   ASSIGN_OR_RETURN(std::unique_ptr<BackgroundReader> reader, BackgroundReader::Start(*file, {.ring_bytes = 64 << 20}));
//   reader->Allow(bytes);                                     // so many bytes are read while this thread does something else
//   ASSIGN_OR_RETURN(const int64_t read, reader->bytes());    // by now
//
// No unit is pinned: all units are read, over and over. Errors are the errors of LayerStreamer. Threads: one at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {

struct ReadingOptions {
  IoKind io = IoKind::kAuto;
  VerifyPolicy verify = VerifyPolicy::kFirst;
  int64_t ring_bytes = 0;           // Raised to twice the largest unit if smaller.
  int64_t least_bytes = int64_t{1} << 30;  // Bytes to time, rounded up to whole passes over the file.
  const std::atomic<bool>* cancel = nullptr;  // For `cancel` and wrap_device see LayerStreamer.
  std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = nullptr;
};

struct ReadingSpeed {
  double bytes_per_second = 0;
  double core_share = 0;            // CPU seconds of the process per second, user and system.
};

// Returns the speed of reading. The first pass is not timed.
absl::StatusOr<ReadingSpeed> TimeReading(const TsrReader& file, const ReadingOptions& options);

class BackgroundReader {
 public:
  static absl::StatusOr<std::unique_ptr<BackgroundReader>> Start(const TsrReader& file, const ReadingOptions& options);
  ~BackgroundReader();

  void Allow(int64_t bytes);        // Allows `bytes` more bytes.
  void Forbid();                    // Withdraws allowed bytes whose reads have not begun.
  absl::StatusOr<int64_t> bytes() const;   // Bytes leased since Start, or the error that ended reading.

 private:
  explicit BackgroundReader(std::unique_ptr<LayerStreamer> source) : source_(std::move(source)) {}
  void Read();

  const std::unique_ptr<LayerStreamer> source_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t allowed_ = 0;
  int64_t bytes_ = 0;
  bool stop_ = false;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace tessera
