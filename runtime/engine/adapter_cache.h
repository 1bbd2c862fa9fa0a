// Adapters by number, of which memory holds some: those that are used, and of the others as many as it has room for.
//
//   AdapterCache cache({.most_bytes = int64_t{64} << 20});
//   const int pirate = cache.Add({.name = "pirate", .bytes = plan.bytes, .read = [=] { return ReadPirate(); }});
//   ASSIGN_OR_RETURN(const AdapterLease adapter, cache.Lease(pirate));   // read, unless memory has it
//   StreamOptions stream = {.adapter = adapter.get()};                    // whose texts must end before the lease does
//
// An adapter that is read takes the place of those that were used least recently, and that nobody uses; they go before it comes, so that
// memory never holds more than most_bytes. Where such are too few, Lease is ResourceExhausted. What is read again must be what it was, by
// SHA-256, and is then the same adapter (LoraAdapter::id): prefixes that the cache holds with it stay its own. The sum is first computed
// when an adapter goes, so nothing is summed while all stay.
// Threads: one at a time; leases may end on any.
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

// While there is one, its adapter stays in memory. Null: no adapter.
using AdapterLease = std::shared_ptr<const LoraAdapter>;

class AdapterCache {
 public:
  struct Options {
    int64_t most_bytes = std::numeric_limits<int64_t>::max();   // All A and B in memory together.
    const Clock* clock = nullptr;                               // By which reads are timed. Null: real time.
  };
  struct Source {
    std::string name = {};     // For messages.
    int64_t bytes = 0;         // LoraAdapter::bytes() at most.
    std::function<absl::StatusOr<LoraAdapter>()> read = nullptr;
  };
  struct Stats {
    int64_t leases = 0;
    int64_t reads = 0, read_bytes = 0;   // As adapters have them in memory.
    int64_t evictions = 0;
    double read_seconds = 0;
    double sum_seconds = 0;              // For SHA-256: of what goes for the first time, and of what comes again.
  };

  explicit AdapterCache(const Options& options) : options_(options) {}

  // Its number, from 0 on.
  int Add(Source source);
  int size() const { return static_cast<int>(entries_.size()); }
  // Gives the number to another adapter, which none takes for the one before. REQUIRES: a number of Add that no lease has.
  void Replace(int number, Source source);
  // Says how many bytes the source's adapter has at most, for one that learns it later than Add. REQUIRES: !IsInMemory(number).
  void SetBytes(int number, int64_t bytes);

  // The errors of the source's `read`. ResourceExhausted (name, found, expected) if what is used leaves no room. FailedPrecondition (name,
  // found, expected) if the source gives another adapter than before, or a larger one than it said. REQUIRES: a number of Add.
  absl::StatusOr<AdapterLease> Lease(int number);

  // What so many texts need at once that each have an adapter of their own: the bytes of the largest.
  int64_t LeastBytes(int texts) const;

  int64_t bytes() const { return bytes_; }        // In memory now.
  int64_t most_bytes() const { return options_.most_bytes; }
  int64_t MostBytes() const;                      // That it will ever be: most_bytes, or all adapters together.
  bool IsInMemory(int number) const { return entries_[static_cast<size_t>(number)].adapter != nullptr; }
  bool IsLeased(int number) const { return entries_[static_cast<size_t>(number)].adapter.use_count() > 1; }
  int InMemory() const;                           // How many are.
  // Whether it is in memory, or may come without another going.
  bool HasRoomFor(int number) const;
  const Stats& stats() const { return stats_; }

 private:
  struct Entry {
    Source source = {};
    AdapterLease adapter = nullptr;   // Null: not in memory.
    uint64_t id = 0;                  // LoraAdapter::id. 0: it was never read.
    Sha256Sum sum = {};               // Empty: it never went.
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
