// Adapters that requests compose of others. A mix is in memory once, for all requests that ask for the same mix.
//
//   AdapterMixes mixes({.cache = &cache, .lease_part = [&](int number) { return cache.Lease(number); }, .shapes = LoraShapesOf(config)});
//   const int number = mixes.NumberOf({{style, 1}, {facts, 0.5f}}, "style,facts@0.5");
//   ASSIGN_OR_RETURN(const AdapterLease adapter, mixes.Lease(number));   // composed, unless memory has it
//
// A mix is known by its parts: the numbers, the scales and the order. Requests for the same mix get the same adapter, and share the
// prefixes that the KV cache keeps with the adapter. A mix that was evicted is composed again and must then be the same adapter as before
// (AdapterCache). A mix may be forgotten if nobody asks for the mix while `most_known` others are asked for. A forgotten mix, asked for
// again, is a new adapter with the same values.
//
// Memory: parts are leased while a mix is composed of the parts. The mix's size is known, and the cache has made room, before the mix is
// composed.
// Threads: one at a time; leases may end on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/model/adapter_set.h"
#include "tessera/model/load_adapter.h"
#include "tessera/model/lora.h"
#include "tessera/runtime/engine/adapter_cache.h"

namespace tessera {

struct MixPart {
  int number = 0;    // The adapter's number, which never changes.
  float scale = 1;
  friend bool operator==(const MixPart&, const MixPart&) = default;
};
using AdapterMix = std::vector<MixPart>;

class AdapterMixes {
 public:
  static constexpr int kMostKnown = 256;

  struct Options {
    AdapterCache* cache = nullptr;      // Holds the mixes, perhaps other adapters too. Must outlive this.
    std::function<absl::StatusOr<AdapterLease>(int number)> lease_part = nullptr;
    bool parts_are_in_cache = true;     // lease_part gives leases of the cache.
    std::vector<LoraShape> shapes = {};     // The result of LoraShapesOf.
    std::vector<int> padded_ranks = {};     // The argument of LoraAdapter::PadTo. Empty: mixes have no padding.
    int most_known = kMostKnown;            // Exceeded only while this many mixes have leases.
  };

  explicit AdapterMixes(Options options) : options_(std::move(options)) {}
  AdapterMixes(const AdapterMixes&) = delete;   // The cache's sources point here.
  AdapterMixes& operator=(const AdapterMixes&) = delete;

  // Returns the mix's number in the cache. The number is valid until the next call, or while the mix has a lease. Composes nothing. name:
  // for messages.
  int NumberOf(const AdapterMix& mix, const std::string& name);
  bool Has(int number) const { return known_.count(number) > 0; }
  int known() const { return static_cast<int>(known_.size()); }

  // Returns a lease of the mix, which is composed unless memory holds it. Errors name the mix: the errors of lease_part, ComposeAdapters
  // and AdapterCache::Lease; FailedPrecondition (found, expected) if the cache's memory is too small even with nothing else in the cache,
  // or if the ranks exceed the padded ranks. REQUIRES: Has(number).
  absl::StatusOr<AdapterLease> Lease(int number);

 private:
  struct Known {
    AdapterMix mix = {};
    std::string name = {};
    std::vector<AdapterLease> parts = {};   // Held while the mix is composed.
    int64_t last_used = 0;
  };

  int PlaceFor(const std::string& name);
  absl::Status Prepare(int number, Known& known);
  absl::StatusOr<int64_t> PlannedBytes(const Known& known) const;
  absl::StatusOr<LoraAdapter> Compose(int number) const;

  const Options options_;
  std::map<int, Known> known_;   // By number.
  int64_t uses_ = 0;
};

}  // namespace tessera
