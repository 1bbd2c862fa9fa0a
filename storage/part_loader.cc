#include "tessera/storage/part_loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/start_thread.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/internal/block_checker.h"
#include "tessera/storage/internal/reading_priority.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);  // How often a waiting thread looks for a cancellation.

// The blocks of a unit to read: whole blocks.
struct Extent {
  int unit = 0;
  int64_t begin = 0, end = 0;   // In the unit.
  int64_t place = 0;            // After the load's own.
  int64_t bytes() const { return end - begin; }
};

// Returns one extent per unit, in the units' order in `parts`.
std::vector<Extent> ExtentsOf(const TsrReader& file, absl::Span<const UnitPart> parts) {
  std::vector<Extent> extents;
  for (const UnitPart& part : parts) {
    CHECK(part.offset >= 0 && part.bytes > 0 && part.bytes <= file.UnitBytes(part.unit) - part.offset) << "unit " << part.unit;
    const int64_t begin = part.offset / kTsrBlockBytes * kTsrBlockBytes;
    const int64_t end = std::min(AlignUp(part.offset + part.bytes, kTsrBlockBytes), file.StoredBytes(part.unit));
    const auto same = std::find_if(extents.begin(), extents.end(), [&](const Extent& extent) { return extent.unit == part.unit; });
    if (same == extents.end()) {
      extents.push_back({.unit = part.unit, .begin = begin, .end = end});
    } else {
      same->begin = std::min(same->begin, begin);
      same->end = std::max(same->end, end);
    }
  }
  int64_t place = 0;
  for (Extent& extent : extents) {
    extent.place = place;
    place += extent.bytes();
  }
  return extents;
}

int64_t BytesOfAll(const std::vector<Extent>& extents) { return extents.empty() ? 0 : extents.back().place + extents.back().bytes(); }

}  // namespace

// Guarded by the loader's mutex, except constant members: parts, extents, place, detail.
struct PartLoader::Job {
  enum class State { kWaiting, kReading, kThere, kFailed };
  std::vector<UnitPart> parts;
  std::vector<Extent> extents;
  int64_t place = 0;
  int detail = 0;
  State state = State::kWaiting;
  bool is_dropped = false;
  absl::Status status = {};                         // The cause of kFailed.
  std::vector<absl::Span<const std::byte>> bytes = {};   // By part, once in memory.
};

// buffer_, io_ and reason_ never change after Start, and is_started_ is the caller's. device_, checker_, reader_ and broken_ belong to the
// thread that reads. All else is under mutex_.
class PartLoader::Impl {
 public:
  Impl(const TsrReader& file, Options options) : file_(file), options_(std::move(options)), checker_(file, options_.verify) {}
  ~Impl();

  absl::Status Start(int64_t memory_bytes);
  void Begin(std::shared_ptr<Job> job);
  void End(Job& job);
  bool IsReady(const Job& job) const;
  absl::StatusOr<absl::Span<const absl::Span<const std::byte>>> Await(const std::shared_ptr<Job>& job);
  absl::Status AwaitAll();
  void SetRecording(bool on);
  Stats stats() const;
  const TsrReader& file() const { return file_; }
  IoKind io() const { return io_; }
  const std::string& reason() const { return reason_; }

 private:
  static int64_t Now() { return RealClock().NowNanos(); }   // Real time: threads wait in real time for the device, and for each other.
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  absl::Status CheckStarted() const;
  void Queue(std::shared_ptr<Job> job);

  // Called by the thread that reads.
  void Work();
  bool IsWanted(const Job& job) const;
  absl::Status Read(const Job& job);
  absl::Status ReadExtents(const Job& job);
  void Finish(Job& job, const absl::Status& status, int64_t nanos);

  const TsrReader& file_;
  const Options options_;
  AlignedBuffer buffer_;
  IoKind io_ = IoKind::kAuto;
  std::string reason_;
  std::thread thread_;
  bool is_started_ = false;

  std::unique_ptr<BlockDevice> device_;
  BlockChecker checker_;
  std::optional<BlockReader> reader_;
  absl::Status broken_;                      // Not OK: nothing can be read any more.

  mutable std::mutex mutex_;
  std::condition_variable wake_;             // For the thread that reads: there may be something to do.
  std::condition_variable changed_;          // Wakes the thread that waits for a load.
  bool stop_ = false;
  bool is_reading_ = false;
  bool is_recording_ = true;
  std::deque<std::shared_ptr<Job>> queue_;   // Waiting loads.
  absl::Status failure_;                     // For AwaitAll.
  Stats stats_;
};

PartLoader::Impl::~Impl() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

absl::Status PartLoader::Impl::Start(int64_t memory_bytes) {
  CHECK(!is_started_) << "Start: called a second time";
  ASSIGN_OR_RETURN(buffer_, AlignedBuffer::Allocate(memory_bytes, AlignedBuffer::Pages::kLarge, file_.path()));
  RETURN_IF_ERROR(buffer_.PrepareForDevices());
  ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(file_.file(), {.io = options_.io, .probe_in_child = options_.probe_in_child,
                                                                       .depth = options_.depth, .buffers = buffer_.bytes()}));
  io_ = opened.io;
  reason_ = std::move(opened.reason);
  device_ = options_.wrap_device == nullptr ? std::move(opened.device) : options_.wrap_device(std::move(opened.device));
  absl::StatusOr<std::thread> thread = StartThread([this] { Work(); });
  if (!thread.ok()) return absl::Status(thread.status().code(), absl::StrCat(file_.path(), ": loading: ", thread.status().message()));
  thread_ = *std::move(thread);
  is_started_ = true;
  return absl::OkStatus();
}

absl::Status PartLoader::Impl::CheckStarted() const {
  if (is_started_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(file_.path(), ": loading: found no Start before, expected one"));
}

void PartLoader::Impl::Queue(std::shared_ptr<Job> job) {
  job->state = Job::State::kWaiting;
  queue_.push_back(std::move(job));
  wake_.notify_one();
}

void PartLoader::Impl::Begin(std::shared_ptr<Job> job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Queue(std::move(job));
}

void PartLoader::Impl::End(Job& job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  job.is_dropped = true;
  std::erase_if(queue_, [&](const std::shared_ptr<Job>& waiting) { return waiting.get() == &job; });
}

bool PartLoader::Impl::IsReady(const Job& job) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return job.state == Job::State::kThere;
}

absl::StatusOr<absl::Span<const absl::Span<const std::byte>>> PartLoader::Impl::Await(const std::shared_ptr<Job>& job) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (job->state == Job::State::kThere) return absl::MakeConstSpan(job->bytes);
  RETURN_IF_ERROR(CheckStarted());
  if (job->state == Job::State::kFailed) Queue(job);
  const int64_t begin = Now();
  absl::Status cancelled;
  while (cancelled.ok() && (job->state == Job::State::kWaiting || job->state == Job::State::kReading)) {
    changed_.wait_for(lock, kLook);
    if (Cancelled()) cancelled = absl::CancelledError("loading: cancelled");
  }
  if (is_recording_) stats_.waited_nanos += Now() - begin;
  RETURN_IF_ERROR(cancelled);
  if (job->state == Job::State::kThere) return absl::MakeConstSpan(job->bytes);
  return job->status;
}

absl::Status PartLoader::Impl::AwaitAll() {
  std::unique_lock<std::mutex> lock(mutex_);
  RETURN_IF_ERROR(CheckStarted());
  while (is_reading_ || !queue_.empty()) {
    changed_.wait_for(lock, kLook);
    if (Cancelled()) return absl::CancelledError("loading: cancelled");
  }
  return std::exchange(failure_, absl::OkStatus());
}

void PartLoader::Impl::SetRecording(bool on) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_recording_ = on;
}

PartLoader::Stats PartLoader::Impl::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

// The thread that reads. --------------------------------------------------------------------------------------------------------------

void PartLoader::Impl::Work() {
  if (options_.raise_priority) RunBeforeOthers();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    if (queue_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    job->state = Job::State::kReading;
    is_reading_ = true;
    lock.unlock();   // Reading waits for the device.
    const int64_t begin = Now(), recorded = options_.timeline == nullptr ? 0 : options_.timeline->Now();
    const absl::Status status = OrOutOfMemory([&] { return Read(*job); });
    if (reader_.has_value() && reader_->unfinished() > 0) reader_.reset();   // Waits for reads in flight: the next load may have the place.
    lock.lock();
    Finish(*job, status, Now() - begin);
    if (options_.timeline != nullptr && is_recording_) {
      options_.timeline->Record({Zone::kLoad, Resource::kFlash, job->detail, recorded, options_.timeline->Now()});
    }
    changed_.notify_all();
  }
  lock.unlock();
  reader_.reset();
  device_.reset();
}

bool PartLoader::Impl::IsWanted(const Job& job) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !stop_ && !job.is_dropped;
}

// If the file is unchanged when the bytes are here, the file was unchanged during the read. After a new time of change that may stand for
// writing, every block is compared. A load that was being read then, perhaps without comparing, is read again.
absl::Status PartLoader::Impl::Read(const Job& job) {
  CHECK_LE(job.place + BytesOfAll(job.extents), buffer_.size()) << "a load beyond the memory that Start was told";
  if (!reader_.has_value()) reader_.emplace(*device_, CheckedReads(checker_, LayerStreamer::kReadBytes));
  while (true) {
    RETURN_IF_ERROR(broken_);
    const bool was_trusting = checker_.trusting();
    RETURN_IF_ERROR(ReadExtents(job));
    broken_ = device_->CheckUnchanged();
    if (file_.file()->MayHaveChanged()) checker_.TrustNothing();
    if (broken_.ok() && checker_.trusting() == was_trusting) return absl::OkStatus();
  }
}

absl::Status PartLoader::Impl::ReadExtents(const Job& job) {
  for (const Extent& extent : job.extents) {
    std::byte* const out = buffer_.data() + job.place + extent.place;
    reader_->Start({.offset = file_.UnitOffset(extent.unit) + extent.begin, .out = absl::MakeSpan(out, extent.bytes())});
  }
  absl::Status first_error;
  while (reader_->unfinished() > 0) {
    if (!IsWanted(job)) return absl::CancelledError("a load that has ended");
    if (const std::optional<BlockReader::Finished> finished = reader_->Step()) first_error.Update(finished->status);
  }
  return first_error;
}

void PartLoader::Impl::Finish(Job& job, const absl::Status& status, int64_t nanos) {
  is_reading_ = false;
  if (job.is_dropped) return;
  job.state = status.ok() ? Job::State::kThere : Job::State::kFailed;
  job.status = status;
  failure_.Update(status);
  if (!status.ok()) return;
  ++stats_.loads;
  stats_.read_bytes += BytesOfAll(job.extents);
  stats_.read_nanos += nanos;
  job.bytes.clear();
  for (const UnitPart& part : job.parts) {
    const auto in = std::find_if(job.extents.begin(), job.extents.end(), [&](const Extent& extent) { return extent.unit == part.unit; });
    const int64_t offset = job.place + in->place + part.offset - in->begin;
    job.bytes.push_back(buffer_.bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(part.bytes)));
  }
}

// -------------------------------------------------------------------------------------------------------------------------------------

PartLoader::Load::~Load() { loader_.End(*job_); }
bool PartLoader::Load::is_ready() const { return loader_.IsReady(*job_); }
absl::StatusOr<absl::Span<const absl::Span<const std::byte>>> PartLoader::Load::Await() { return loader_.Await(job_); }

PartLoader::PartLoader(const TsrReader& file, Options options) : impl_(std::make_unique<Impl>(file, std::move(options))) {}
PartLoader::~PartLoader() = default;

int64_t PartLoader::BytesOf(absl::Span<const UnitPart> parts) const { return BytesOfAll(ExtentsOf(impl_->file(), parts)); }
absl::Status PartLoader::Start(int64_t memory_bytes) { return impl_->Start(memory_bytes); }

std::unique_ptr<PartLoader::Load> PartLoader::Begin(absl::Span<const UnitPart> parts, int64_t place, int detail) {
  CHECK_EQ(place % BlockDevice::kAlignment, 0);
  auto job = std::make_shared<Job>(Job{.parts = {parts.begin(), parts.end()}, .extents = ExtentsOf(impl_->file(), parts), .place = place,
                                       .detail = detail});
  job->bytes.reserve(parts.size());   // So the reading thread need not allocate.
  std::unique_ptr<Load> load(new Load(*impl_, job));
  impl_->Begin(std::move(job));
  return load;
}

absl::Status PartLoader::AwaitAll() { return impl_->AwaitAll(); }
void PartLoader::SetRecording(bool on) { impl_->SetRecording(on); }
PartLoader::Stats PartLoader::stats() const { return impl_->stats(); }
IoKind PartLoader::device_io() const { return impl_->io(); }
const std::string& PartLoader::device_reason() const { return impl_->reason(); }

}  // namespace tessera
