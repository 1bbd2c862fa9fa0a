#include "tessera/storage/clocked_source.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {
namespace {

constexpr int kDepth = 8;                                 // LayerStreamer::Options::depth.
constexpr int64_t kMostNanos = 3'200'000'000'000'000'000;   // A third of the clock's range. No unit takes longer than a day.

int64_t Nanos(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

ClockedSource::Options ClockedSource::OptionsFor(const TsrReader& file, const StreamPlan& plan, FlashProfile flash,
                                                 Timeline* timeline) {
  Options options = {.flash = std::move(flash), .ring_bytes = plan.ring_bytes, .timeline = timeline};
  for (int unit = 0; unit < file.units(); ++unit) {
    const size_t index = static_cast<size_t>(unit);
    options.unit_bytes.push_back(file.StoredBytes(unit));
    options.streamed.push_back(!plan.pins.pinned[index] && (plan.parts_only.empty() || !plan.parts_only[index]));
  }
  return options;
}

ClockedSource::ClockedSource(std::unique_ptr<WeightSource> source, VirtualClock& clock, Options options)
    : source_(std::move(source)), clock_(clock), options_(std::move(options)), streamed_(options_.streamed),
      inner_(options_.unit_bytes.size()), room_ns_(clock.NowNanos()), read_end_ns_(clock.NowNanos()) {
  CHECK_EQ(options_.unit_bytes.size(), static_cast<size_t>(source_->units()));
  CHECK_EQ(options_.streamed.size(), options_.unit_bytes.size());
}

ClockedSource::~ClockedSource() = default;

ClockedSource::Stats ClockedSource::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

absl::StatusOr<WeightLease> ClockedSource::Acquire(int unit) {
  ASSIGN_OR_RETURN(WeightLease lease, source_->Acquire(unit));
  if (lease.pinned()) return lease;
  const std::lock_guard<std::mutex> lock(mutex_);
  RETURN_IF_ERROR(CheckTime(unit));
  Entry* entry = Find(unit);
  if (entry == nullptr || !IsThere(*entry)) entry = &Read(unit);
  ++entry->leases;
  AwaitNanos(entry->ready_ns);
  const absl::Span<const std::byte> bytes = lease.bytes();
  inner_[static_cast<size_t>(unit)].push_back(std::move(lease));
  return WeightLease(this, unit, bytes, /*pinned=*/false);
}

absl::StatusOr<std::vector<WeightLease>> ClockedSource::AcquireParts(absl::Span<const UnitPart> parts) {
  ASSIGN_OR_RETURN(std::vector<WeightLease> leases, source_->AcquireParts(parts));
  const std::lock_guard<std::mutex> lock(mutex_);
  double seconds = 0;
  for (size_t i = 0; i < leases.size(); ++i) {
    if (leases[i].pinned() || parts[i].bytes == 0) continue;
    seconds += SecondsOf(parts[i].bytes, std::min(static_cast<int>(parts.size()), kDepth));
    stats_.read_bytes += parts[i].bytes;
  }
  if (seconds == 0) return leases;
  RETURN_IF_ERROR(CheckTime(parts.front().unit));
  const int64_t now = clock_.NowNanos();
  stats_.read_seconds += seconds;
  read_end_ns_ = std::max(read_end_ns_, now) + Nanos(seconds);
  AwaitNanos(now + std::max(Nanos(seconds), options_.flash.latency_nanos));
  return leases;
}

void ClockedSource::Release(int unit, absl::Span<const std::byte> /*bytes*/) {
  WeightLease ended;   // Ends after the mutex is unlocked.
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<WeightLease>& inner = inner_[static_cast<size_t>(unit)];
  ended = std::move(inner.back());
  inner.pop_back();
  if (Entry* const entry = Find(unit); entry != nullptr && --entry->leases == 0) entry->free_ns = clock_.NowNanos();
}

absl::Status ClockedSource::CheckTime(int unit) const {
  if (std::max(read_end_ns_, clock_.NowNanos()) <= kMostNanos) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("unit ", unit, ": found reading after ", kMostNanos / 1'000'000'000,
                                            " s of virtual time, expected it before"));
}

ClockedSource::Entry* ClockedSource::Find(int unit) {
  const auto found = std::find_if(ring_.begin(), ring_.end(), [unit](const Entry& entry) { return entry.unit == unit; });
  return found == ring_.end() ? nullptr : &*found;
}

// Returns whether the unit is still in the ring. A unit without leases, except the last one read, has made room for others: the flash reads
// ahead as far as possible. But if the ring has room for all units, all stay.
bool ClockedSource::IsThere(const Entry& entry) const {
  if (entry.leases > 0 || entry.unit == last_) return true;
  int64_t all = 0;
  for (size_t unit = 0; unit < streamed_.size(); ++unit) all += streamed_[unit] ? options_.unit_bytes[unit] : 0;
  return LayerStreamer::ReadInPass(all, options_.ring_bytes) == 0;
}

// Returns the unit that is read after the last one. -1: none.
int ClockedSource::Next() const {
  const int units = static_cast<int>(streamed_.size());
  for (int i = 1; i <= units; ++i) {
    const int unit = (last_ + i) % units;
    if (streamed_[static_cast<size_t>(unit)]) return unit;
  }
  return -1;
}

// Returns when there is room for `bytes` bytes. Units read first go first, as soon as their leases have ended.
int64_t ClockedSource::RoomFor(int64_t bytes) {
  while (!ring_.empty() && ring_used_ + bytes > options_.ring_bytes && ring_.front().leases == 0) {
    room_ns_ = std::max(room_ns_, ring_.front().free_ns);
    ring_used_ -= BytesOf(ring_.front().unit);
    ring_.pop_front();
  }
  return room_ns_;
}

// Drops all units that are not leased, at the present time.
int64_t ClockedSource::EmptyRing() {
  std::erase_if(ring_, [](const Entry& entry) { return entry.leases == 0; });
  ring_used_ = 0;
  for (const Entry& entry : ring_) ring_used_ += BytesOf(entry.unit);
  room_ns_ = clock_.NowNanos();
  return room_ns_;
}

ClockedSource::Entry& ClockedSource::Read(int unit) {
  const int64_t bytes = BytesOf(unit);
  streamed_[static_cast<size_t>(unit)] = true;
  // A unit out of order was not expected before.
  const int64_t room_ns = Next() == unit && Find(unit) == nullptr ? RoomFor(bytes) : EmptyRing();
  double seconds = 0;
  for (int64_t left = bytes; left > 0; left -= LayerStreamer::kReadBytes) {
    seconds += SecondsOf(std::min(left, LayerStreamer::kReadBytes), kDepth);
  }
  const int64_t begin = std::max(room_ns, read_end_ns_);
  const int64_t latency = begin > read_end_ns_ ? options_.flash.latency_nanos : 0;   // Otherwise the latency passes during the read before.
  read_end_ns_ = begin + Nanos(seconds);
  if (options_.timeline != nullptr) options_.timeline->Record({Zone::kRead, Resource::kFlash, unit, begin, read_end_ns_});
  stats_.read_bytes += bytes;
  stats_.read_seconds += seconds;
  last_ = unit;
  ring_used_ += bytes;
  return ring_.emplace_back(Entry{.unit = unit, .ready_ns = std::max(read_end_ns_, begin + latency)});
}

double ClockedSource::SecondsOf(int64_t bytes, int depth) const {
  return static_cast<double>(bytes) / options_.flash.BytesPerSecond(bytes, depth);
}

void ClockedSource::AwaitNanos(int64_t ready_ns) {
  const int64_t wait = std::max<int64_t>(0, ready_ns - clock_.NowNanos());
  clock_.Advance(wait);
  stats_.waited_seconds += static_cast<double>(wait) * 1e-9;
}

}  // namespace tessera
