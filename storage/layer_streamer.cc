#include "tessera/storage/layer_streamer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/start_thread.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/layer_streamer_impl.h"

namespace tessera {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);  // How often a waiting thread looks for a cancellation.
constexpr int kLooksBeforeStuck = 40;

}  // namespace

LayerStreamer::Impl::~Impl() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;  // (10)
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
    if (options_.pins.pinned[unit]) pinned += file_.StoredBytes(unit);
    else if (!PartsOnly(unit)) largest = std::max(largest, file_.StoredBytes(unit));
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
  trusting_.resize(units());
  pin_of_.resize(units());
  std::byte* place = buffer_.data();
  for (int unit = 0; unit < units(); ++unit) {
    if (!options_.pins.pinned[unit]) continue;
    pins_.push_back(unit);
    pin_of_[unit] = {.pinned = true, .place = place};
    place += file_.StoredBytes(unit);
  }
  std::stable_partition(pins_.begin(), pins_.end(), [this](int unit) { return !PartsOnly(unit); });  // (13)
}

void LayerStreamer::Impl::OrderStreamed() {
  position_.assign(units(), -1);
  order_.clear();
  stats_.streamed_bytes = 0;
  for (int unit = 0; unit < units(); ++unit) {
    if (Pinned(unit) || PartsOnly(unit)) continue;
    position_[unit] = static_cast<int>(order_.size());
    order_.push_back(unit);
    stats_.streamed_bytes += file_.StoredBytes(unit);
  }
  stats_.pass_bytes = ReadInPass(stats_.streamed_bytes, options_.ring_bytes);
}

absl::Status LayerStreamer::Impl::Start() {
  RETURN_IF_ERROR(CheckOptions());
  static_assert(PartsReader::kBufferBytes <= kPartsBytes);
  ASSIGN_OR_RETURN(int64_t bytes, CheckedAdd(options_.pins.bytes, AlignUp(options_.ring_bytes, AlignedBuffer::kAlignment)));
  ASSIGN_OR_RETURN(bytes, CheckedAdd(bytes, PartsReader::kBufferBytes));
  ASSIGN_OR_RETURN(buffer_, AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kLarge, file_.path()));
  RETURN_IF_ERROR(buffer_.PrepareForDevices());
  PlacePins();
  OrderStreamed();
  parts_.emplace(file_, checker_, buffer_.bytes().last(PartsReader::kBufferBytes));
  // Pins are not among the buffers that devices may register: the system keeps registered buffers, and pins are read once.
  const absl::Span<std::byte> read_again = buffer_.bytes().subspan(options_.pins.bytes);
  const OpenOptions open = {.io = options_.io, .probe_in_child = options_.probe_in_child, .depth = options_.depth, .buffers = read_again};
  ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(file_.file(), open));
  io_ = opened.io;
  reason_ = std::move(opened.reason);
  device_ = options_.wrap_device == nullptr ? std::move(opened.device) : options_.wrap_device(std::move(opened.device));
  stats_.pinned_bytes = options_.pins.bytes;
  stats_.ring_bytes = options_.ring_bytes;
  absl::StatusOr<std::thread> thread = StartThread([this] { Read(); });
  if (!thread.ok()) return absl::Status(thread.status().code(), absl::StrCat(file_.path(), ": reading: ", thread.status().message()));
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

absl::Status LayerStreamer::Impl::AwaitPins() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (const int unit : pins_) RETURN_IF_ERROR(AwaitPin(unit, lock));
  return absl::OkStatus();
}

double LayerStreamer::Impl::LoadingSeconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<double>(loading_nanos_) * 1e-9;
}

// Returns a pin's result: OK if in memory, or no longer pinned. nullopt: the pin is being read, or will be.
std::optional<absl::Status> LayerStreamer::Impl::FindPin(int unit) {
  Pin& pin = pin_of_[unit];
  if (!pin.pinned || pin.state == PinState::kThere) return absl::OkStatus();
  if (pin.state == PinState::kFailed) {
    pin.state = PinState::kRefused;
    return std::exchange(pin.status, absl::OkStatus());
  }
  if (!broken_.ok()) return broken_;  // (8)
  if (pin.state != PinState::kReading) {  // (13)
    pin.state = PinState::kUnread;
    asked_ = unit;
    wake_.notify_one();
  }
  return std::nullopt;
}

absl::Status LayerStreamer::Impl::AwaitPin(int unit, std::unique_lock<std::mutex>& lock) {
  std::optional<absl::Status> found = FindPin(unit);
  if (found.has_value()) return *found;
  const int64_t begin = Now();
  while (!found.has_value()) {
    changed_.wait_for(lock, kLook);  // (9)
    found = Cancelled() ? absl::CancelledError("loading: cancelled") : FindPin(unit);
  }
  const int64_t waited = Now() - begin;
  stats_.stall_nanos += waited;
  loading_nanos_ += waited;
  return *found;
}

// The thread that acquires. -----------------------------------------------------------------------------------------------------------

// Marks all units in the ring as not wanted, and continues reading at `unit`.
void LayerStreamer::Impl::ReadFrom(int unit) {
  ring_.SkipBefore(nullptr);  // All of them are done (6).
  if (!ReadNextIs(unit)) {
    ++stats_.out_of_order;
    ring_.Clear();  // Remaining units would be out of order in the ring.
  }
  next_ = position_[unit];
  came_round_ = false;
  wake_.notify_one();
}

// Returns a unit's result; nullopt: the unit is being read, or will be.
std::optional<absl::StatusOr<absl::Span<const std::byte>>> LayerStreamer::Impl::Take(int unit) {
  UnitRing::Entry* const entry = ring_.Find(unit);
  if (entry == nullptr) {
    if (!broken_.ok()) return broken_;  // (8)
    ReadFrom(unit);
    return std::nullopt;
  }
  ring_.SkipBefore(entry);
  if (entry->state == UnitRing::State::kReading) {  // The device may still write there (4).
    entry->done = false;
    return std::nullopt;
  }
  if (entry->state == UnitRing::State::kFailed) {
    absl::Status status = std::move(entry->status);
    ring_.Drop(unit);
    return status;
  }
  if (!std::exchange(entry->used, true)) stats_.bytes_used += entry->bytes;
  entry->done = position_[unit] + 1 == static_cast<int>(order_.size());  // Others go when one after them is asked for.
  ++entry->leases;  // The place is not used again before all leases end (5).
  if (ReadNextIs(unit)) Advance();  // The unit was in the ring already when its turn came again.
  wake_.notify_one();
  return absl::MakeConstSpan(RingPlace(entry->offset), file_.UnitBytes(unit));
}

absl::StatusOr<absl::Span<const std::byte>> LayerStreamer::Impl::Acquire(int unit) {
  CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
  std::unique_lock<std::mutex> lock(mutex_);
  RETURN_IF_ERROR(AwaitPin(unit, lock));
  if (Pinned(unit)) return LeasePin(unit);
  CHECK_GE(position_[unit], 0) << "unit " << unit << " is leased in parts only";
  if (auto taken = Take(unit)) return *std::move(taken);
  const int64_t begin = Now();
  absl::StatusOr<absl::Span<const std::byte>> taken = AwaitUnit(unit, lock);
  stats_.stall_nanos += Now() - begin;
  return taken;
}

absl::StatusOr<absl::Span<const std::byte>> LayerStreamer::Impl::AwaitUnit(int unit, std::unique_lock<std::mutex>& lock) {
  for (int looks = 0; looks < kLooksBeforeStuck;) {
    const bool looked = changed_.wait_for(lock, kLook) == std::cv_status::timeout;  // (9)
    if (Cancelled()) return absl::CancelledError("pass: cancelled");
    if (looked && no_room_ && units_reading_ == 0) ++looks;
    if (auto taken = Take(unit)) return *std::move(taken);
  }
  return absl::ResourceExhaustedError(absl::StrCat(file_.path(), ": unit ", unit, ": found no room for ", file_.StoredBytes(unit),
                                                   " bytes beside the units that are leased, in a ring of ", ring_.capacity()));
}

absl::Status LayerStreamer::Impl::AwaitParts(std::unique_lock<std::mutex>& lock) {
  while (!parts_asked_.empty()) {  // The device may still write there (4).
    changed_.wait_for(lock, kLook);
    if (Cancelled()) return absl::CancelledError("pass: cancelled");
  }
  return absl::OkStatus();
}

absl::Status LayerStreamer::Impl::ReadParts(std::vector<UnitPart> parts, std::unique_lock<std::mutex>& lock) {
  CHECK_EQ(parts_leased_, 0) << "parts of the last call are still leased";  // (5)
  RETURN_IF_ERROR(broken_);
  const int64_t begin = Now();
  absl::Status status = AwaitParts(lock);  // Parts of a cancelled call.
  if (status.ok()) {
    parts_asked_ = std::move(parts);
    parts_begun_ = false;
    wake_.notify_one();
    status = AwaitParts(lock);
  }
  stats_.stall_nanos += Now() - begin;
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(broken_);
  return parts_->status();
}

// Leases pins in memory before other parts are read, since pins may be given up meanwhile. Parts of a missing pin are read like parts of
// other units: waiting for the whole pin would keep a pass from beginning.
absl::StatusOr<std::vector<absl::Span<const std::byte>>> LayerStreamer::Impl::AcquireParts(absl::Span<const UnitPart> parts) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::vector<absl::Span<const std::byte>> places(parts.size());
  std::vector<UnitPart> to_read;
  std::vector<size_t> read;  // Indexes of `to_read` in `parts`.
  for (size_t i = 0; i < parts.size(); ++i) {
    const UnitPart& part = parts[i];
    CHECK(part.unit >= 0 && part.unit < units()) << "unit " << part.unit << " of " << units();
    if (PinIs(part.unit, PinState::kThere)) {
      places[i] = LeasePin(part.unit).subspan(part.offset, part.bytes);
    } else {
      to_read.push_back(part);
      read.push_back(i);
    }
  }
  if (read.empty()) return places;
  const absl::Status status = ReadParts(std::move(to_read), lock);
  for (size_t i = 0; i < parts.size() && !status.ok(); ++i) {
    if (places[i].data() != nullptr) EndPinLease(parts[i].unit);
  }
  RETURN_IF_ERROR(status);
  for (size_t i = 0; i < read.size(); ++i) places[read[i]] = parts_->Bytes(static_cast<int>(i));
  parts_leased_ += static_cast<int>(read.size());
  return places;
}

void LayerStreamer::Impl::Release(int unit, const std::byte* place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (IsPin(place)) return EndPinLease(unit);
  if (parts_->Owns(place)) {
    --parts_leased_;
    return;
  }
  UnitRing::Entry* entry = ring_.Find(unit);
  CHECK(entry != nullptr && entry->leases > 0) << "unit " << unit << " is not leased";
  if (--entry->leases == 0) wake_.notify_one();
}

absl::Span<const std::byte> LayerStreamer::Impl::LeasePin(int unit) {
  ++pin_of_[unit].leases;
  return {pin_of_[unit].place, static_cast<size_t>(file_.UnitBytes(unit))};
}

void LayerStreamer::Impl::EndPinLease(int unit) {
  CHECK_GT(pin_of_[unit].leases, 0) << "unit " << unit << " is not leased";
  --pin_of_[unit].leases;
  GiveBackUnused(unit);
}

void LayerStreamer::Impl::GiveBackUnused(int unit) {
  Pin& pin = pin_of_[unit];
  if (pin.pinned || pin.leases > 0 || pin.state == PinState::kReading) return;  // (4)
  if (!buffer_.GiveBack(pin.place - buffer_.data(), file_.StoredBytes(unit)).ok()) stats_.kept_bytes += file_.StoredBytes(unit);
  pin.place = nullptr;  // (7)
}

absl::Status LayerStreamer::Impl::CheckUnpin(absl::Span<const int> unpinned) const {
  for (const int unit : unpinned) {
    if (unit < 0 || unit >= units() || !Pinned(unit)) {
      return absl::InvalidArgumentError(absl::StrCat(file_.path(), ": unpin: found unit ", unit, ", expected one that is pinned"));
    }
    if (!PartsOnly(unit) && file_.StoredBytes(unit) > ring_.capacity()) {
      return absl::InvalidArgumentError(absl::StrCat(file_.path(), ": unpin: unit ", unit, ": found a ring of ", ring_.capacity(),
                                                     " bytes, expected at least ", file_.StoredBytes(unit)));
    }
  }
  return absl::OkStatus();
}

// Reading goes on after the unit read last. Unpinned units before that unit are read out of order once, when requested.
absl::Status LayerStreamer::Impl::Unpin(absl::Span<const int> unpinned) {
  const std::lock_guard<std::mutex> lock(mutex_);
  RETURN_IF_ERROR(CheckUnpin(unpinned));
  for (const int unit : unpinned) {
    pin_of_[unit].pinned = false;
    stats_.pinned_bytes -= file_.StoredBytes(unit);
    GiveBackUnused(unit);
  }
  const int last = order_.empty() ? -1 : order_[(next_ == 0 ? order_.size() : next_) - 1];
  OrderStreamed();
  if (last >= 0) {
    next_ = position_[last];
    Advance();
  }
  wake_.notify_one();
  return absl::OkStatus();
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
  return std::unique_ptr<LayerStreamer>(new LayerStreamer(std::move(impl)));
}

int LayerStreamer::units() const { return impl_->units(); }
absl::Status LayerStreamer::AwaitChecked() { return impl_->AwaitPins(); }
absl::Status LayerStreamer::AwaitResident() { return impl_->AwaitPins(); }
double LayerStreamer::LoadingSeconds() const { return impl_->LoadingSeconds(); }
std::vector<std::string> LayerStreamer::Shortages() const { return {}; }
absl::Status LayerStreamer::Unpin(absl::Span<const int> units) { return impl_->Unpin(units); }
LayerStreamer::Stats LayerStreamer::stats() const { return impl_->stats(); }
IoKind LayerStreamer::device_io() const { return impl_->io(); }
const std::string& LayerStreamer::device_reason() const { return impl_->reason(); }

absl::StatusOr<WeightLease> LayerStreamer::Acquire(int unit) {
  ASSIGN_OR_RETURN(const absl::Span<const std::byte> bytes, impl_->Acquire(unit));
  return WeightLease(this, unit, bytes, impl_->IsPin(bytes.data()));
}

absl::StatusOr<std::vector<WeightLease>> LayerStreamer::AcquireParts(absl::Span<const UnitPart> parts) {
  ASSIGN_OR_RETURN(const std::vector<absl::Span<const std::byte>> places, impl_->AcquireParts(parts));
  std::vector<WeightLease> leases;
  leases.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    leases.emplace_back(this, parts[i].unit, places[i], impl_->IsPin(places[i].data()));
  }
  return leases;
}

void LayerStreamer::Release(int unit, absl::Span<const std::byte> bytes) { impl_->Release(unit, bytes.data()); }

}  // namespace tessera
