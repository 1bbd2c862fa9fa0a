// The places of units from the start of reading to the end of use: a circular buffer, first in first out, of units of any size.
//
//   UnitRing ring(bytes);
//   if (std::optional<int64_t> offset = ring.Place(unit, unit_bytes)) StartReading(*offset);   // else no room before something goes
//   ring.Find(unit)->state = UnitRing::State::kReady;
//   ...
//   ring.Find(unit)->done = true;                                       // with no lease and no read its bytes are free
//
// Units go in the order of their arrival, and only when their bytes are needed: units that fit all at once stay. Thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/status/status.h"

namespace tessera {

class UnitRing {
 public:
  enum class State { kReading, kReady, kFailed };
  struct Entry {
    int unit;
    int64_t offset;            // In the buffer.
    int64_t bytes;
    State state = State::kReading;
    bool used = false;         // A lease was given.
    bool done = false;         // No lease will follow: goes once nothing holds it.
    int leases = 0;
    int64_t begin_nanos = 0;   // Time of placing, for the timeline.
    absl::Status status = {};  // The cause of kFailed.
    bool Held() const { return !done || leases > 0 || state == State::kReading; }
  };

  explicit UnitRing(int64_t capacity) : capacity_(capacity) {}

  // Takes a place for a unit, if there is room. REQUIRES: bytes > 0, Find(unit) is null.
  std::optional<int64_t> Place(int unit, int64_t bytes);

  // Returns the entry of a unit; each unit has at most one, since failed units that are done are forgotten. Null: none. Valid until Place.
  Entry* Find(int unit);
  // Marks all entries before `entry` as done: no lease will follow. Marks all entries if `entry` is null.
  void SkipBefore(const Entry* entry);
  // Removes all entries that are not held, up to the first that is held.
  void Clear();
  // Marks all entries that are being read as failed.
  void FailReading(const absl::Status& status);
  // Forgets a failed unit. REQUIRES: there is such an entry.
  void Drop(int unit);

  int64_t capacity() const { return capacity_; }

 private:
  // Returns a place for `bytes` bytes after the newest entry. nullopt: no room.
  std::optional<int64_t> Room(int64_t bytes) const;

  const int64_t capacity_;
  std::deque<Entry> entries_;
};

}  // namespace tessera
