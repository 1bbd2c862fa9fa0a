// Where units lie between being read and being done with: a circular buffer, first in first out, of units of any size.
//
//   UnitRing ring(bytes);
//   if (std::optional<int64_t> offset = ring.Place(unit, unit_bytes)) StartReading(*offset);   // else no room before something goes
//   ring.Find(unit)->state = UnitRing::State::kReady;
//   ...
//   ring.Find(unit)->done = true;                                       // with no lease and no read its bytes are free
//
// Units go in the order they came, and only when their bytes are needed: units that fit all at once stay. Thread-compatible.
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
    bool used = false;         // Somebody leased it.
    bool done = false;         // Nobody is going to lease it: goes once nothing holds it.
    int leases = 0;
    int64_t begin_nanos = 0;   // When it was placed, for the timeline.
    absl::Status status = {};  // Why it failed.
    bool Held() const { return !done || leases > 0 || state == State::kReading; }
  };

  explicit UnitRing(int64_t capacity) : capacity_(capacity) {}

  // Takes a place for a unit, if there is room. REQUIRES: bytes > 0, Find(unit) is null.
  std::optional<int64_t> Place(int unit, int64_t bytes);

  // The entry of a unit, of which there is one at most: those that failed and are done are forgotten. Null: none. Valid until Place.
  Entry* Find(int unit);
  // Those that came before `entry` and were not leased will not be; all of them, if it is null.
  void SkipBefore(const Entry* entry);
  // All that are not held go at once, up to the first that is.
  void Clear();
  // All that are being read have failed.
  void FailReading(const absl::Status& status);
  // Forgets a unit that failed. REQUIRES: there is such an entry.
  void Drop(int unit);

  int64_t capacity() const { return capacity_; }

 private:
  // Where so many bytes find room after the newest. nullopt: nowhere.
  std::optional<int64_t> Room(int64_t bytes) const;

  const int64_t capacity_;
  std::deque<Entry> entries_;
};

}  // namespace tessera
