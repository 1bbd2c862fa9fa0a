#include "tessera/apps/bench/flash/reading_speed.h"

#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "glog/logging.h"
#include "tessera/base/clock.h"
#include "tessera/base/start_thread.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

double CpuSeconds() {
  rusage used;
  CHECK_EQ(getrusage(RUSAGE_SELF, &used), 0);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

absl::StatusOr<std::unique_ptr<LayerStreamer>> OpenUnpinned(const TsrReader& file, const ReadingOptions& options) {
  LayerStreamer::Options streamer;
  streamer.pins.pinned.assign(file.units(), false);
  int64_t largest = 0;
  for (int unit = 0; unit < file.units(); ++unit) largest = std::max(largest, file.StoredBytes(unit));
  streamer.ring_bytes = std::max(options.ring_bytes, LayerStreamer::RingBytesFor(largest, largest));
  streamer.io = options.io;
  streamer.probe_in_child = true;
  streamer.raise_priority = true;
  streamer.verify = options.verify;
  streamer.cancel = options.cancel;
  streamer.wrap_device = options.wrap_device;
  return LayerStreamer::Open(file, std::move(streamer));
}

absl::StatusOr<int64_t> ReadAll(LayerStreamer& source) {
  int64_t bytes = 0;
  for (int unit = 0; unit < source.units(); ++unit) {
    ASSIGN_OR_RETURN(const WeightLease lease, source.Acquire(unit));
    bytes += static_cast<int64_t>(lease.bytes().size());
  }
  return bytes;
}

}  // namespace

absl::StatusOr<ReadingSpeed> TimeReading(const TsrReader& file, const ReadingOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LayerStreamer> source, OpenUnpinned(file, options));
  RETURN_IF_ERROR(ReadAll(*source).status());
  const int64_t begin = RealClock().NowNanos();
  const double cpu_begin = CpuSeconds();
  int64_t bytes = 0;
  while (bytes < options.least_bytes) {
    ASSIGN_OR_RETURN(const int64_t pass, ReadAll(*source));
    bytes += pass;
  }
  const double seconds = static_cast<double>(RealClock().NowNanos() - begin) * 1e-9;
  return ReadingSpeed{.bytes_per_second = static_cast<double>(bytes) / seconds, .core_share = (CpuSeconds() - cpu_begin) / seconds};
}

absl::StatusOr<std::unique_ptr<BackgroundReader>> BackgroundReader::Start(const TsrReader& file, const ReadingOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> source, OpenUnpinned(file, options));
  std::unique_ptr<BackgroundReader> reader(new BackgroundReader(std::move(source)));
  ASSIGN_OR_RETURN(reader->thread_, StartThread([reading = reader.get()] { reading->Read(); }));
  return reader;
}

BackgroundReader::~BackgroundReader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BackgroundReader::Read() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (int unit = 0; !stop_ && status_.ok(); unit = (unit + 1) % source_->units()) {
    changed_.wait(lock, [this] { return stop_ || allowed_ > 0; });
    if (stop_) break;
    lock.unlock();
    const absl::StatusOr<WeightLease> lease = source_->Acquire(unit);
    lock.lock();
    status_ = lease.status();
    if (!lease.ok()) break;
    const auto bytes = static_cast<int64_t>(lease->bytes().size());
    bytes_ += bytes;
    allowed_ = std::max(int64_t{0}, allowed_ - bytes);
  }
}

void BackgroundReader::Allow(int64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    allowed_ += bytes;
  }
  changed_.notify_one();
}

void BackgroundReader::Forbid() {
  const std::lock_guard<std::mutex> lock(mutex_);
  allowed_ = 0;
}

absl::StatusOr<int64_t> BackgroundReader::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  RETURN_IF_ERROR(status_);
  return bytes_;
}

}  // namespace tessera
