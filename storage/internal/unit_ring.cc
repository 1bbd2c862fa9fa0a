#include "tessera/storage/internal/unit_ring.h"

#include "glog/logging.h"

namespace tessera {

std::optional<int64_t> UnitRing::Room(int64_t bytes) const {
  if (entries_.empty()) return bytes <= capacity_ ? std::optional<int64_t>(0) : std::nullopt;
  const int64_t begin = entries_.front().offset, end = entries_.back().offset + entries_.back().bytes;
  const bool wrapped = entries_.back().offset < begin;
  if (!wrapped && end + bytes <= capacity_) return end;
  const int64_t offset = wrapped ? end : 0;
  return offset + bytes <= begin ? std::optional<int64_t>(offset) : std::nullopt;
}

// Drops the oldest entries until there is room, up to the first entry that is held.
std::optional<int64_t> UnitRing::Place(int unit, int64_t bytes) {
  CHECK_GT(bytes, 0);
  CHECK(Find(unit) == nullptr) << "unit " << unit;
  std::optional<int64_t> offset = Room(bytes);
  while (!offset.has_value() && !entries_.empty() && !entries_.front().Held()) {
    entries_.pop_front();
    offset = Room(bytes);
  }
  if (offset.has_value()) entries_.push_back({.unit = unit, .offset = *offset, .bytes = bytes});
  return offset;
}

void UnitRing::Clear() {
  while (!entries_.empty() && !entries_.front().Held()) entries_.pop_front();
}

UnitRing::Entry* UnitRing::Find(int unit) {
  for (Entry& entry : entries_) {
    if (entry.unit == unit && !(entry.state == State::kFailed && entry.done)) return &entry;
  }
  return nullptr;
}

void UnitRing::SkipBefore(const Entry* until) {
  for (Entry& entry : entries_) {
    if (&entry == until) return;
    entry.done = true;
  }
}

void UnitRing::FailReading(const absl::Status& status) {
  for (Entry& entry : entries_) {
    if (entry.state != State::kReading) continue;
    entry.state = State::kFailed;
    entry.status = status;
  }
}

void UnitRing::Drop(int unit) {
  Entry* entry = Find(unit);
  CHECK(entry != nullptr && entry->state == State::kFailed) << "unit " << unit;
  entry->done = true;
}

}  // namespace tessera
