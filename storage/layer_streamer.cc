#include "tessera/storage/layer_streamer.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/clock.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/layer_streamer_impl.h"

namespace tessera {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);  // How often one who waits looks for a cancellation.
constexpr int kLooksBeforeStuck = 40;

}  // namespace

LayerStreamer::Impl::~Impl() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

absl::Status LayerStreamer::Impl::CheckOptions() const {
  const auto count = static_cast<size_t>(units());
  if (options_.pins.pinned.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_.path(), ": pin plan: found ", options_.pins.pinned.size(), " units, expected ", count));
  }
  if (!options_.parts_only.empty() && options_.parts_only.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_.path(), ": parts_only: found ", options_.parts_only.size(), " units, expected ", count));
  }
  int64_t largest = 0, pinned = 0;
  for (int unit = 0; unit < units(); ++unit) {
    if (Pinned(unit)) pinned += file_.StoredBytes(unit);
    else if (options_.parts_only.empty() || !options_.parts_only[unit]) largest = std::max(largest, file_.StoredBytes(unit));
  }
  if (options_.ring_bytes < largest) {
    return absl::InvalidArgumentError(absl::StrCat(file_.path(), ": ring: found ", options_.ring_bytes,
                                                   " bytes, expected at least ", largest, ", the largest unit that is streamed"));
  }
  if (pinned != options_.pins.bytes) {
    return absl::InvalidArgumentError(absl::StrCat(file_.path(), ": pin plan: found ", options_.pins.bytes, " bytes, expected ", pinned));
  }
  return absl::OkStatus();
}

void LayerStreamer::Impl::PlacePins() {
  pin_places_.assign(units(), nullptr);
  position_.assign(units(), -1);
  std::byte* place = buffer_.data();
  for (int unit = 0; unit < units(); ++unit) {
    if (Pinned(unit)) {
      pins_.push_back(unit);
      pin_places_[unit] = place;
      place += file_.StoredBytes(unit);
    } else if (options_.parts_only.empty() || !options_.parts_only[unit]) {
      position_[unit] = static_cast<int>(order_.size());
      order_.push_back(unit);
      stats_.streamed_bytes += file_.StoredBytes(unit);
    }
  }
}

absl::Status LayerStreamer::Impl::Start() {
  RETURN_IF_ERROR(CheckOptions());
  static_assert(PartsReader::kBufferBytes <= kPartsBytes);
  ASSIGN_OR_RETURN(int64_t bytes, CheckedAdd(options_.pins.bytes, AlignUp(options_.ring_bytes, AlignedBuffer::kAlignment)));
  ASSIGN_OR_RETURN(bytes, CheckedAdd(bytes, PartsReader::kBufferBytes));
  ASSIGN_OR_RETURN(buffer_, AlignedBuffer::Allocate(bytes));
  RETURN_IF_ERROR(buffer_.PrepareForDevices());
  PlacePins();
  parts_.emplace(file_, checker_, buffer_.bytes().last(PartsReader::kBufferBytes));
  ASSIGN_OR_RETURN(OpenedDevice opened,
                   OpenBlockDevice(file_.path(), {.io = options_.io, .depth = options_.depth, .buffers = buffer_.bytes()}));
  reason_ = std::move(opened.reason);
  device_ = options_.wrap_device == nullptr ? std::move(opened.device) : options_.wrap_device(std::move(opened.device));
  stats_.pinned_bytes = options_.pins.bytes;
  stats_.ring_bytes = options_.ring_bytes;
  thread_ = std::thread([this] { Read(); });
  return absl::OkStatus();
}

absl::Status LayerStreamer::Impl::AwaitPins() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (pins_finished_ < pins_.size() && broken_.ok()) {
    if (Cancelled()) return absl::CancelledError("loading: cancelled");
    changed_.wait_for(lock, kLook);
    if (options_.progress == nullptr) continue;
    const int64_t there = pinned_bytes_;
    lock.unlock();
    options_.progress(there, options_.pins.bytes);
    lock.lock();
  }
  return broken_;
}

// The thread that acquires. -----------------------------------------------------------------------------------------------------------

// Nothing that is in the ring is wanted; the next unit to be read is `unit`.
void LayerStreamer::Impl::ReadFrom(int unit) {
  if (!ReadNextIs(unit)) ++stats_.out_of_order;
  next_ = position_[unit];
  ring_.SkipBefore(nullptr);
  wake_.notify_one();
}

// What came of a unit; nullopt: it is being read, or will be.
std::optional<absl::StatusOr<absl::Span<const std::byte>>> LayerStreamer::Impl::Take(int unit) {
  UnitRing::Entry* const entry = ring_.Find(unit);
  if (entry == nullptr) {
    if (!broken_.ok()) return broken_;
    ReadFrom(unit);
    return std::nullopt;
  }
  ring_.SkipBefore(entry);
  if (entry->state == UnitRing::State::kReading) {
    entry->done = false;
    return std::nullopt;
  }
  if (entry->state == UnitRing::State::kFailed) {
    absl::Status status = std::move(entry->status);
    ring_.Drop(unit);
    return status;
  }
  entry->done = position_[unit] + 1 == static_cast<int>(order_.size());  // Others go when one after them is asked for.
  ++entry->leases;
  if (ReadNextIs(unit)) Advance();  // It was in the ring from before its turn came again.
  wake_.notify_one();
  return absl::MakeConstSpan(RingPlace(entry->offset), file_.UnitBytes(unit));
}

absl::StatusOr<absl::Span<const std::byte>> LayerStreamer::Impl::Acquire(int unit) {
  CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
  if (Pinned(unit)) return PinnedBytes(unit);
  CHECK_GE(position_[unit], 0) << "unit " << unit << " is leased in parts only";
  std::unique_lock<std::mutex> lock(mutex_);
  if (auto taken = Take(unit)) return *std::move(taken);
  const int64_t begin = RealClock().NowNanos();
  absl::StatusOr<absl::Span<const std::byte>> taken = AwaitUnit(unit, lock);
  stats_.stall_nanos += RealClock().NowNanos() - begin;
  return taken;
}

absl::StatusOr<absl::Span<const std::byte>> LayerStreamer::Impl::AwaitUnit(int unit, std::unique_lock<std::mutex>& lock) {
  for (int looks = 0; looks < kLooksBeforeStuck;) {
    const bool looked = changed_.wait_for(lock, kLook) == std::cv_status::timeout;
    if (Cancelled()) return absl::CancelledError("pass: cancelled");
    if (looked && no_room_ && units_reading_ == 0) ++looks;
    if (auto taken = Take(unit)) return *std::move(taken);
  }
  return absl::ResourceExhaustedError(absl::StrCat(file_.path(), ": unit ", unit, ": found no room for ", file_.StoredBytes(unit),
                                                   " bytes beside the units that are leased, in a ring of ", ring_.capacity()));
}

absl::Status LayerStreamer::Impl::AwaitParts(std::unique_lock<std::mutex>& lock) {
  while (!parts_asked_.empty()) {
    changed_.wait_for(lock, kLook);
    if (Cancelled()) return absl::CancelledError("pass: cancelled");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<absl::Span<const std::byte>>> LayerStreamer::Impl::AcquireParts(absl::Span<const UnitPart> parts) {
  std::vector<UnitPart> to_read;
  for (const UnitPart& part : parts) {
    CHECK(part.unit >= 0 && part.unit < units()) << "unit " << part.unit << " of " << units();
    if (!Pinned(part.unit)) to_read.push_back(part);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (!to_read.empty()) {
    CHECK_EQ(parts_leased_, 0) << "parts of the last call are still leased";
    RETURN_IF_ERROR(broken_);
    const int64_t begin = RealClock().NowNanos();
    absl::Status status = AwaitParts(lock);  // Those of a call that was cancelled.
    if (status.ok()) {
      parts_asked_ = std::move(to_read);
      parts_begun_ = false;
      wake_.notify_one();
      status = AwaitParts(lock);
    }
    stats_.stall_nanos += RealClock().NowNanos() - begin;
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(parts_->status());
  }
  std::vector<absl::Span<const std::byte>> places;
  size_t read = 0;
  for (const UnitPart& part : parts) {
    places.push_back(Pinned(part.unit) ? PinnedBytes(part.unit).subspan(part.offset, part.bytes) : parts_->Bytes(read++));
  }
  parts_leased_ += static_cast<int>(read);
  return places;
}

void LayerStreamer::Impl::Release(int unit, const std::byte* place) {
  if (Pinned(unit)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (parts_->Owns(place)) {
    --parts_leased_;
    return;
  }
  UnitRing::Entry* entry = ring_.Find(unit);
  CHECK(entry != nullptr && entry->leases > 0) << "unit " << unit << " is not leased";
  if (--entry->leases == 0) wake_.notify_one();
}

LayerStreamer::Stats LayerStreamer::Impl::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

// ------------------------------------------------------------------------------------------------------------------------------------

LayerStreamer::LayerStreamer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LayerStreamer::~LayerStreamer() = default;

absl::StatusOr<std::unique_ptr<LayerStreamer>> LayerStreamer::Open(const TsrReader& file, Options options) {
  auto impl = std::make_unique<Impl>(file, std::move(options));
  RETURN_IF_ERROR(impl->Start());
  RETURN_IF_ERROR(impl->AwaitPins());
  return std::unique_ptr<LayerStreamer>(new LayerStreamer(std::move(impl)));
}

int LayerStreamer::units() const { return impl_->units(); }
LayerStreamer::Stats LayerStreamer::stats() const { return impl_->stats(); }
const std::string& LayerStreamer::device_reason() const { return impl_->reason(); }

absl::StatusOr<WeightLease> LayerStreamer::Acquire(int unit) {
  ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes, impl_->Acquire(unit));
  return WeightLease(this, unit, bytes, impl_->Pinned(unit));
}

absl::StatusOr<std::vector<WeightLease>> LayerStreamer::AcquireParts(absl::Span<const UnitPart> parts) {
  ASSIGN_OR_RETURN(const std::vector<absl::Span<const std::byte>> places, impl_->AcquireParts(parts));
  std::vector<WeightLease> leases;
  leases.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) leases.emplace_back(this, parts[i].unit, places[i], impl_->Pinned(parts[i].unit));
  return leases;
}

void LayerStreamer::Release(int unit, absl::Span<const std::byte> bytes) { impl_->Release(unit, bytes.data()); }

}  // namespace tessera
