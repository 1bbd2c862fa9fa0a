#include "tessera/runtime/engine/adapter_mixes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/compose_adapters.h"

namespace tessera {
namespace {

std::vector<AdapterShare> SharesOf(const AdapterMix& mix, const std::vector<AdapterLease>& parts) {
  std::vector<AdapterShare> shares;
  for (size_t i = 0; i < mix.size(); ++i) shares.push_back({.adapter = parts[i].get(), .scale = mix[i].scale});
  return shares;
}

absl::Status Named(const std::string& name, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat("adapter ", Quoted(name), ": ", status.message()));
}

}  // namespace

int AdapterMixes::NumberOf(const AdapterMix& mix, const std::string& name) {
  for (auto& [number, known] : known_) {
    if (known.mix != mix) continue;
    known.last_used = ++uses_;
    return number;
  }
  const int number = PlaceFor(name);
  known_[number] = {.mix = mix, .name = name, .last_used = ++uses_};
  return number;
}

// Returns a number of the cache for a new mix. No other mix has the number from now on.
int AdapterMixes::PlaceFor(const std::string& name) {
  auto oldest = known_.end();
  for (auto it = known_.begin(); known() >= options_.most_known && it != known_.end(); ++it) {
    if (options_.cache->IsLeased(it->first)) continue;
    if (oldest == known_.end() || it->second.last_used < oldest->second.last_used) oldest = it;
  }
  if (oldest == known_.end()) {
    return options_.cache->Add({.name = name, .read = [this, number = options_.cache->size()] { return Compose(number); }});
  }
  const int number = oldest->first;
  known_.erase(oldest);
  options_.cache->Replace(number, {.name = name, .read = [this, number] { return Compose(number); }});
  return number;
}

absl::StatusOr<LoraAdapter> AdapterMixes::Compose(int number) const {
  const Known& known = known_.at(number);
  CHECK_EQ(known.parts.size(), known.mix.size()) << known.name << " is leased by its number alone";
  ASSIGN_OR_RETURN(LoraAdapter composed, ComposeAdapters(SharesOf(known.mix, known.parts)));
  if (!options_.padded_ranks.empty()) composed.PadTo(options_.padded_ranks, options_.shapes);
  return composed;
}

absl::StatusOr<int64_t> AdapterMixes::PlannedBytes(const Known& known) const {
  ASSIGN_OR_RETURN(const LoraPlan plan, PlanComposedAdapter(SharesOf(known.mix, known.parts)));
  const std::vector<int>& padded = options_.padded_ranks;
  for (size_t place = 0; place < padded.size(); ++place) {
    if (plan.ranks[place] <= padded[place]) continue;
    return absl::FailedPreconditionError(absl::StrCat("layer ", place / kLoraTargets, " ",
                                                      LoraTargetName(static_cast<LoraTarget>(place % kLoraTargets)), ": found ranks of ",
                                                      plan.ranks[place], " together, expected at most ", padded[place],
                                                      ", the rank of the graphs' inputs"));
  }
  return plan.BytesPaddedTo(padded.empty() ? plan.ranks : padded, options_.shapes);
}

// Leases the parts and tells the cache the mix's size.
absl::Status AdapterMixes::Prepare(int number, Known& known) {
  int64_t beside = 0;
  for (const MixPart& part : known.mix) {
    absl::StatusOr<AdapterLease> lease = options_.lease_part(part.number);
    // The cache has evicted all adapters without a lease. If only this mix's own parts are left, waiting brings no room.
    const bool is_alone = options_.parts_are_in_cache && options_.cache->bytes() == beside;
    if (absl::IsResourceExhausted(lease.status()) && is_alone) return absl::FailedPreconditionError(lease.status().message());
    RETURN_IF_ERROR(lease.status());
    if (options_.parts_are_in_cache) beside += (*lease)->bytes();
    known.parts.push_back(*std::move(lease));
  }
  ASSIGN_OR_RETURN(const int64_t bytes, PlannedBytes(known));
  const int64_t most = options_.cache->most_bytes();
  if (bytes > most - beside) {
    const std::string parts = options_.parts_are_in_cache ? absl::StrCat(FormatByteSize(beside), " for its parts and ") : "";
    return absl::FailedPreconditionError(absl::StrCat("found ", FormatByteSize(most), " for adapters, expected room for ", parts,
                                                      FormatByteSize(bytes), " for what is made of them"));
  }
  options_.cache->SetBytes(number, bytes);
  return absl::OkStatus();
}

absl::StatusOr<AdapterLease> AdapterMixes::Lease(int number) {
  const auto found = known_.find(number);
  CHECK(found != known_.end()) << number;
  Known& known = found->second;
  known.last_used = ++uses_;
  if (options_.cache->IsInMemory(number)) return options_.cache->Lease(number);
  const absl::Status prepared = Prepare(number, known);
  absl::StatusOr<AdapterLease> lease = prepared.ok() ? options_.cache->Lease(number) : absl::StatusOr<AdapterLease>(prepared);
  known.parts.clear();
  if (!lease.ok()) return Named(known.name, lease.status());
  return lease;
}

}  // namespace tessera
