// Adapters that requests compose of others, each kept in memory once for all who ask for the same one.
//
//   AdapterMixes mixes({.cache = &cache, .lease_part = [&](int number) { return cache.Lease(number); }, .shapes = LoraShapesOf(config)});
//   const int number = mixes.NumberOf({{style, 1}, {facts, 0.5f}}, "style,facts@0.5");
//   ASSIGN_OR_RETURN(const AdapterLease adapter, mixes.Lease(number));   // composed, unless memory has it
//
// A mix is known by its parts, by number, with their scales and in their order: whoever asks for the same one has the same adapter, and
// with it the prefixes that the cache of texts keeps. A mix that had to leave memory is composed again and is then the same adapter, as
// AdapterCache holds its adapters to. A mix that was not asked for while `most_known` others were may be forgotten: asked for again, it is
// a new adapter of the same numbers.
//
// Memory: parts are leased while a mix is made of them, and its bytes are known and have their place in the cache before it is made.
// Threads: one at a time; leases may end on any.
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
  int number = 0;    // An adapter has it for good.
  float scale = 1;
  friend bool operator==(const MixPart&, const MixPart&) = default;
};
using AdapterMix = std::vector<MixPart>;

class AdapterMixes {
 public:
  static constexpr int kMostKnown = 256;

  struct Options {
    AdapterCache* cache = nullptr;      // For mixes; others may be in it, too. Must outlive this.
    std::function<absl::StatusOr<AdapterLease>(int number)> lease_part = nullptr;
    bool parts_are_in_cache = true;     // lease_part gives leases of the cache.
    std::vector<LoraShape> shapes = {};     // As LoraShapesOf has them.
    std::vector<int> padded_ranks = {};     // As LoraAdapter::PadTo takes them. Empty: mixes have no padding.
    int most_known = kMostKnown;            // More only while so many have leases.
  };

  explicit AdapterMixes(Options options) : options_(std::move(options)) {}
  AdapterMixes(const AdapterMixes&) = delete;   // The cache's sources point here.
  AdapterMixes& operator=(const AdapterMixes&) = delete;

  // Returns the mix's number in the cache, which is good until the next call, or while its lease lives. Composes nothing. name: for
  // messages.
  int NumberOf(const AdapterMix& mix, const std::string& name);
  bool Has(int number) const { return known_.count(number) > 0; }
  int known() const { return static_cast<int>(known_.size()); }

  // The errors of lease_part, ComposeAdapters and AdapterCache::Lease, each with the mix's name. FailedPrecondition (found, expected) where
  // the cache's memory would be too small with nothing else in it, or the ranks are above the padded ones. REQUIRES: Has(number).
  absl::StatusOr<AdapterLease> Lease(int number);

 private:
  struct Known {
    AdapterMix mix = {};
    std::string name = {};
    std::vector<AdapterLease> parts = {};   // While it is made.
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
