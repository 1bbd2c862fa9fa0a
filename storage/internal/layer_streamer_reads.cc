// The reading thread of a LayerStreamer. Reads pins to their places and the other units into the ring, in the order of a pass. Reads
// requested parts, too.
#include <new>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/storage/internal/layer_streamer_impl.h"
#include "tessera/storage/internal/reading_priority.h"

namespace tessera {
namespace {

constexpr uint64_t kPinIds = uint64_t{1} << 32, kPartsIds = uint64_t{2} << 32;  // The first of pins, and of parts; below, streamed units.

}  // namespace

void LayerStreamer::Impl::Read() {
  bool memory_lasts = true;
  try {
    ReadUntilStopped();
  } catch (const std::bad_alloc&) {
    memory_lasts = false;
  }
  reader_.reset();  // Waits for reads in flight (10).
  device_.reset();
  if (!memory_lasts) EndOutOfMemory();
}

void LayerStreamer::Impl::EndOutOfMemory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  broken_.Update(out_of_memory_);
  ring_.FailReading(out_of_memory_);
  for (const int unit : pins_) {
    if (pin_of_[unit].state == PinState::kReading) FinishPin(unit, out_of_memory_);
  }
  units_reading_ = 0;
  parts_asked_.clear();
  changed_.notify_all();
}

void LayerStreamer::Impl::ReadUntilStopped() {
  if (options_.raise_priority) RunBeforeOthers();
  reader_.emplace(*device_, CheckedReads(checker_, kReadBytes));
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
  // Keeps enough blocks waiting that the device has the next whenever one completes, also with small units. Not more: parts come after.
  while (reader_->waiting() < device_->depth() && StartNext()) {}
}

bool LayerStreamer::Impl::StartNext() {
  if (!broken_.ok()) return false;
  const int pin = NextPin();
  const bool in_turn = pin >= 0 && IsBeforeStreamed(pin);
  if (!in_turn && StartStreamed()) return true;
  // Pins out of turn are read one at a time: the next unit that the ring has room for must not wait for many.
  if (pin < 0 || (!in_turn && reader_->waiting() > 0)) return false;
  ReadPin(pin);
  return true;
}

// Returns the next pin to read; below 0: none.
int LayerStreamer::Impl::NextPin() {
  if (asked_ >= 0 && PinIs(asked_, PinState::kUnread)) return asked_;
  while (next_pin_ < pins_.size() && !PinIs(pins_[next_pin_], PinState::kUnread)) ++next_pin_;
  return next_pin_ < pins_.size() ? pins_[next_pin_] : -1;
}

bool LayerStreamer::Impl::IsBeforeStreamed(int pin) const {
  if (pin == asked_ || order_.empty()) return true;
  return !PartsOnly(pin) && (came_round_ || pin < order_[next_]);  // (13)
}

bool LayerStreamer::Impl::StartStreamed() {
  if (order_.empty()) return false;
  const int unit = order_[next_];
  if (ring_.Find(unit) != nullptr) return false;  // All of the cycle is in the ring.
  const std::optional<int64_t> offset = ring_.Place(unit, file_.StoredBytes(unit));
  no_room_ = !offset.has_value();
  if (no_room_) return false;
  if (options_.timeline != nullptr) ring_.Find(unit)->begin_nanos = options_.timeline->Now();
  ReadStreamed(unit);
  Advance();
  return true;
}

void LayerStreamer::Impl::ReadPin(int unit) {
  Pin& pin = pin_of_[unit];
  pin.state = PinState::kReading;
  pin.trusting = checker_.trusting();
  if (options_.timeline != nullptr) pin.begin_nanos = options_.timeline->Now();
  StartUnit(unit, pin.place, kPinIds);
}

void LayerStreamer::Impl::ReadStreamed(int unit) {
  trusting_[unit] = checker_.trusting();
  StartUnit(unit, RingPlace(ring_.Find(unit)->offset), 0);
}

void LayerStreamer::Impl::StartUnit(int unit, std::byte* place, uint64_t first_id) {
  ++units_reading_;
  reader_->Start({.offset = file_.UnitOffset(unit),
                  .out = absl::MakeSpan(place, file_.StoredBytes(unit)),
                  .id = first_id + static_cast<uint64_t>(unit)});
}

// If the file is unchanged when the bytes are here, the file was unchanged during the read. Other bytes are never given out.
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
  } else if (finished.id >= kPinIds) {
    --units_reading_;
    const int unit = static_cast<int>(finished.id - kPinIds);
    if (Pinned(unit) && MustReadAgain(pin_of_[unit].trusting, status)) ReadPin(unit);
    else FinishPin(unit, status);
  } else {
    --units_reading_;
    const int unit = static_cast<int>(finished.id);
    if (MustReadAgain(trusting_[unit], status)) ReadStreamed(unit);
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
  Pin& pin = pin_of_[unit];
  pin.state = status.ok() ? PinState::kThere : PinState::kFailed;
  pin.status = status;
  if (status.ok()) stats_.bytes_used += file_.StoredBytes(unit);
  Record(unit, pin.begin_nanos);
  GiveBackUnused(unit);  // The pin may have been given up meanwhile.
}

void LayerStreamer::Impl::FinishStreamed(int unit, const absl::Status& status) {
  UnitRing::Entry* entry = ring_.Find(unit);
  CHECK(entry != nullptr && entry->state == UnitRing::State::kReading) << "unit " << unit;
  entry->state = status.ok() ? UnitRing::State::kReady : UnitRing::State::kFailed;
  entry->status = status;
  Record(unit, entry->begin_nanos);
}

void LayerStreamer::Impl::Record(int unit, int64_t begin_nanos) {
  if (options_.timeline == nullptr) return;
  options_.timeline->Record({Zone::kRead, Resource::kFlash, unit, begin_nanos, options_.timeline->Now()});
}

}  // namespace tessera
