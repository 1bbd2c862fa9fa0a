// Adapters by number. Memory holds the adapters in use, and as many of the others as there is room for.
//
//   AdapterCache cache({.most_bytes = int64_t{64} << 20});
//   const int pirate = cache.Add({.name = "pirate", .bytes = plan.bytes, .read = [=] { return ReadPirate(); }});
//   ASSIGN_OR_RETURN(const AdapterLease adapter, cache.Lease(pirate));   // read, unless memory has it
//   StreamOptions stream = {.adapter = adapter.get()};                    // whose texts must end before the lease does
//
// Reading an adapter evicts the least recently used adapters that have no lease. Evictions come before the read, so memory never holds more
// than `most_bytes`. Lease is ResourceExhausted if too few adapters can be evicted. An adapter that is read again must have the same
// SHA-256 as before. Then the adapter counts as the same one (LoraAdapter::id), and prefixes that the KV cache holds with the adapter stay
// usable. An adapter is first summed when it is evicted, so nothing is summed while all adapters stay.
// Threads: one at a time; leases may end on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/clock.h"
#include "tessera/base/sha256.h"
#include "tessera/model/lora.h"

namespace tessera {

// Keeps its adapter in memory. Null: no adapter.
using AdapterLease = std::shared_ptr<const LoraAdapter>;

class AdapterCache {
 public:
  struct Options {
    int64_t most_bytes = std::numeric_limits<int64_t>::max();   // A and B of all adapters in memory together, at most.
    const Clock* clock = nullptr;                               // Times the reads. Null: real time.
  };
  struct Source {
    std::string name = {};     // For messages.
    int64_t bytes = 0;         // LoraAdapter::bytes() at most.
    std::function<absl::StatusOr<LoraAdapter>()> read = nullptr;
  };
  struct Stats {
    int64_t leases = 0;
    int64_t reads = 0, read_bytes = 0;   // In the adapters' form in memory.
    int64_t evictions = 0;
    double read_seconds = 0;
    double sum_seconds = 0;              // SHA-256 of adapters that are first evicted or are read again.
  };

  explicit AdapterCache(const Options& options) : options_(options) {}

  // Adds an adapter and returns the adapter's number, from 0 on.
  int Add(Source source);
  int size() const { return static_cast<int>(entries_.size()); }
  // Gives the number to another adapter, which is never taken for the one before. REQUIRES: a number of Add without a lease.
  void Replace(int number, Source source);
  // Sets the most bytes that the source's adapter takes, if the size was unknown at Add. REQUIRES: !IsInMemory(number).
  void SetBytes(int number, int64_t bytes);

  // Returns a lease of the adapter, which is read unless memory holds it. Returns the errors of the source's `read`. ResourceExhausted
  // (name, found, expected) if adapters in use leave no room. FailedPrecondition (name, found, expected) if the source gives another
  // adapter than before, or a larger one than stated, or if the adapter alone exceeds `most_bytes`. REQUIRES: a number of Add.
  absl::StatusOr<AdapterLease> Lease(int number);

  // Returns the bytes that `texts` sequences need at once, each with a different adapter: the sum of the largest adapters.
  int64_t LeastBytes(int texts) const;

  int64_t bytes() const { return bytes_; }        // In memory now.
  int64_t most_bytes() const { return options_.most_bytes; }
  int64_t MostBytes() const;                      // Most bytes ever in memory: most_bytes or, if less, all adapters.
  bool IsInMemory(int number) const { return entries_[static_cast<size_t>(number)].adapter != nullptr; }
  bool IsLeased(int number) const { return entries_[static_cast<size_t>(number)].adapter.use_count() > 1; }
  int InMemory() const;                           // The number of adapters in memory.
  // Returns whether the adapter is in memory, or can be read without an eviction.
  bool HasRoomFor(int number) const;
  const Stats& stats() const { return stats_; }

 private:
  struct Entry {
    Source source = {};
    AdapterLease adapter = nullptr;   // Null: not in memory.
    uint64_t id = 0;                  // LoraAdapter::id. 0: never read.
    Sha256Sum sum = {};               // Empty: never evicted.
    int64_t last_used = 0;
  };

  absl::Status MakeRoom(const Entry& entry);
  Sha256Sum SumOf(const LoraAdapter& adapter);
  absl::Status Read(Entry& entry);

  const Options options_;
  std::vector<Entry> entries_;
  int64_t bytes_ = 0, uses_ = 0;
  Stats stats_;
};

}  // namespace tessera
