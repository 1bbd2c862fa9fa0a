// What the reading thread of a LayerStreamer does: pins, then unit after unit into the ring, and the parts that are asked for.
#include <new>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/storage/internal/layer_streamer_impl.h"
#include "tessera/storage/internal/reading_priority.h"

namespace tessera {
namespace {

constexpr int64_t kMostDrain = 50'000'000;  // Nanoseconds. Ending a streamer, or a request, waits so long.
constexpr uint64_t kPartsIds = uint64_t{1} << 32;  // From here on they are those of parts; below, units.

}  // namespace

void LayerStreamer::Impl::Read() {
  bool memory_lasts = true;
  try {
    ReadUntilStopped();
  } catch (const std::bad_alloc&) {
    memory_lasts = false;
  }
  reader_.reset();  // Waits for what is in flight (10).
  device_.reset();
  if (!memory_lasts) EndOutOfMemory();
}

void LayerStreamer::Impl::EndOutOfMemory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  broken_.Update(out_of_memory_);
  ring_.FailReading(out_of_memory_);
  units_reading_ = 0;
  parts_asked_.clear();
  changed_.notify_all();
}

void LayerStreamer::Impl::ReadUntilStopped() {
  if (options_.raise_priority) RunBeforeOthers();
  BlockReader::Options options = {
      .block_bytes = kReadBytes,
      .check_bytes = kTsrBlockBytes,
      .check = [this](int64_t offset, absl::Span<const std::byte> block) { return checker_.Check(offset, block); },
      .describe = [this](int64_t offset) { return checker_.Describe(offset); },
      .most_drain_nanos = kMostDrain};
  reader_.emplace(*device_, std::move(options));
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    StartReads();
    if (reader_->unfinished() == 0) {
      wake_.wait(lock);
      continue;
    }
    lock.unlock();  // A step waits for the device (2).
    const int64_t begin = Now();
    const std::optional<BlockReader::Finished> finished = reader_->Step();
    const int64_t nanos = Now() - begin;
    lock.lock();
    stats_.read_nanos += nanos;
    CountReads();
    if (finished.has_value()) Finish(*finished);
  }
}

void LayerStreamer::Impl::StartReads() {
  if (!parts_asked_.empty()) {
    if (!parts_begun_) {
      parts_->Begin(parts_asked_);
      parts_trusting_ = checker_.trusting();
    }
    parts_begun_ = true;
    parts_->Start(*reader_, kPartsIds);
  }
  // So many blocks wait that the device has the next whenever one comes, however small the units; and not more, for parts come after.
  while (reader_->waiting() < device_->depth() && (StartPin() || StartNext())) {}
}

bool LayerStreamer::Impl::StartPin() {
  if (pins_started_ == pins_.size() || !broken_.ok()) return false;
  const int unit = pins_[pins_started_++];
  StartUnit(unit, pin_of_[unit].place);
  return true;
}

bool LayerStreamer::Impl::StartNext() {
  if (order_.empty() || !broken_.ok()) return false;
  const int unit = order_[next_];
  if (ring_.Find(unit) != nullptr) return false;  // All of the cycle is in the ring.
  const std::optional<int64_t> offset = ring_.Place(unit, file_.StoredBytes(unit));
  no_room_ = !offset.has_value();
  if (no_room_) return false;
  if (options_.timeline != nullptr) ring_.Find(unit)->begin_nanos = options_.timeline->Now();
  StartUnit(unit, RingPlace(*offset));
  Advance();
  return true;
}

void LayerStreamer::Impl::StartUnit(int unit, std::byte* place) {
  ++units_reading_;
  trusting_[unit] = checker_.trusting();
  reader_->Start({.offset = file_.UnitOffset(unit),
                  .out = absl::MakeSpan(place, file_.StoredBytes(unit)),
                  .id = static_cast<uint64_t>(unit)});
}

// A file that is the same when the bytes are here was the same while they were read: nothing else is ever given out.
absl::Status LayerStreamer::Impl::Judge(const absl::Status& read) {
  if (read.ok()) broken_.Update(device_->CheckUnchanged());  // (8)
  if (file_.file()->MayHaveChanged()) checker_.TrustNothing();  // (12)
  return read.ok() ? broken_ : read;
}

void LayerStreamer::Impl::Finish(const BlockReader::Finished& finished) {
  const absl::Status status = Judge(finished.status);
  if (finished.id >= kPartsIds) {
    const auto job = static_cast<int64_t>(finished.id - kPartsIds);
    parts_->Finish(job, status);
    stats_.bytes_used += parts_->JobBytes(job);
    if (parts_->done() && MustReadAgain(parts_trusting_, parts_->status())) parts_begun_ = false;
    else if (parts_->done()) parts_asked_.clear();
  } else {
    --units_reading_;
    const int unit = static_cast<int>(finished.id);
    if (MustReadAgain(trusting_[unit], status)) StartUnit(unit, Pinned(unit) ? pin_of_[unit].place : RingPlace(ring_.Find(unit)->offset));
    else if (Pinned(unit)) FinishPin(unit, status);
    else FinishStreamed(unit, status);
  }
  changed_.notify_all();  // (9)
}

void LayerStreamer::Impl::CountReads() {
  const BlockReader::Counters& counters = reader_->counters();
  stats_.bytes_read = counters.bytes;
  stats_.retries = counters.short_reads + counters.interruptions + counters.io_errors + counters.mismatches;
}

void LayerStreamer::Impl::FinishPin(int unit, const absl::Status& status) {
  ++pins_finished_;
  pinned_bytes_ += file_.StoredBytes(unit);
  stats_.bytes_used += file_.StoredBytes(unit);
  broken_.Update(status);
}

void LayerStreamer::Impl::FinishStreamed(int unit, const absl::Status& status) {
  UnitRing::Entry* entry = ring_.Find(unit);
  CHECK(entry != nullptr && entry->state == UnitRing::State::kReading) << "unit " << unit;
  entry->state = status.ok() ? UnitRing::State::kReady : UnitRing::State::kFailed;
  entry->status = status;
  if (options_.timeline != nullptr) {
    options_.timeline->Record({Zone::kRead, Resource::kFlash, unit, entry->begin_nanos, options_.timeline->Now()});
  }
}

}  // namespace tessera
