// Adapters that texts name, read and checked against the model, and which of them a text has.
//
//   ASSIGN_OR_RETURN(const Adapters adapters, Adapters::Create({.adapter = {{"pirate", "lora/pirate"}}, .requests = true}, options));
//   ... the engine is opened with these options, its weights are loaded ...
//   ASSIGN_OR_RETURN(const int number, adapters.OfRequest(request.body()));   // {"adapter": "pirate@0.5"}; chosen() if it names none
//   ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(number));     // in memory while there is a lease
//   RETURN_IF_ERROR(answerer.UseAdapter(adapter.get()));
//
// A text that names none has AdapterOptions::use_adapter or, without it, the only adapter; of several it has none. Adapters are read before
// the engine is opened, and a memory budget counts them like all else that the process has. With `adapter_memory` all files are checked and
// as many are read as have room. The others are read as texts name them, and take the places of the adapters that were used least recently
// (runtime/engine/adapter_cache.h). A text may also have an adapter of the folder (adapter_folder.h), and an adapter that is composed of
// several (runtime/engine/adapter_mixes.h).
//
// Errors: wrong options are wrong usage of the field; errors of files are the errors of ReadAdapter and of opening the model.
// Threads: one at a time; adapters themselves may be read by any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/json.h"
#include "tessera/model/adapter_set.h"
#include "tessera/runtime/adapters/adapter_base.h"
#include "tessera/runtime/adapters/adapter_folder.h"
#include "tessera/runtime/adapters/adapter_options.h"
#include "tessera/runtime/adapters/adapter_parts.h"
#include "tessera/runtime/engine/adapter_cache.h"
#include "tessera/runtime/engine/adapter_mixes.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

class Adapters {   // Move-only.
 public:
  static constexpr int kNone = -1;

  Adapters() = default;   // None.
  Adapters(Adapters&&) = default;
  Adapters& operator=(Adapters&&) = default;

  // Checks the options and reads the adapters for the model of `engine`. Sets the engine's Workload::adapter_bytes, adapter_padding and
  // adapter_room.
  static absl::StatusOr<Adapters> Create(AdapterOptions options, EngineOptions& engine);

  const std::vector<std::string>& names() const { return known_.listed; }   // As listed.
  const AdapterNames& known() const { return known_; }                      // With the names of the folder.
  // Returns the number of the adapter of a text that names none, or kNone. Adapters of names() have their places there; others follow.
  int chosen() const { return chosen_; }
  const std::string& chosen_name() const { return chosen_name_; }           // "pirate,plain@0.5"; empty: none.
  // Returns the number of an adapter as a request has it (AdapterPartsOf); for a request that names none the chosen adapter's. A number is
  // good until the next call, or while its lease lives. Errors concern the request alone: the errors of AdapterFolder, and WrongUsage
  // (adapter) for an adapter that is composed where none may be: with a mask; with a device, except `use_adapter`; and with a memory budget
  // alone, which has no room for it. REQUIRES: names that known() has.
  absl::StatusOr<int> Named(const std::optional<AdapterParts>& parts) const;
  // Returns the number of the adapter that a request names by "adapter". The error concerns the request alone: the errors of AdapterPartsOf
  // and Named.
  absl::StatusOr<int> OfRequest(const JsonValue& body) const;

  // Returns the adapter, in memory while there is a lease; null for kNone. Errors concern a text alone: with `adapter_memory` the errors of
  // AdapterCache::Lease, for a composed adapter the errors of AdapterMixes::Lease. ResourceExhausted: there may be room once other leases
  // have ended. A text that takes another lease gives the first one back before: room is for `parallel` leases.
  absl::StatusOr<AdapterLease> Lease(int number) const;

  LoraMode mode() const { return mode_; }
  // Returns by target the rank of a static graph's products: the largest of any adapter or, under a mask, all together. Empty where there
  // are no adapters, and for graphs of tasks, which have their own.
  std::vector<int> GraphRanks() const;
  // Takes a function that is called with the bytes of an adapter where a lease is for another adapter than the lease before: from the
  // second lease on, and also for no adapter after one.
  void OnAnother(std::function<void(int64_t bytes)> on_another) { on_another_ = std::move(on_another); }

  // Returns "adapters: 3 by input, 12.5 MiB, of which 1.2 MiB are padding\n"; empty: there are none.
  std::string StatsLine() const;
  // Returns the work of reading where `adapter_memory` had no room for all, and adapters were read again; nullopt: none were.
  std::optional<AdapterCache::Stats> reads_again() const;

 private:
  absl::Status Choose();
  absl::Status Read(EngineOptions& engine);
  absl::Status ReadAll(const EngineOptions& engine);
  absl::Status ReadAsNamed(EngineOptions& engine);
  absl::Status FillCache(EngineOptions& engine);
  absl::Status MixAfterSet(const ModelConfig& config);
  absl::Status CheckMayMix(const std::string& name) const;
  absl::StatusOr<int> NumberOf(const AdapterParts& parts) const;
  int64_t bytes() const { return (set_ != nullptr ? set_->bytes() : 0) + (cache_ != nullptr ? cache_->bytes() : 0); }
  int64_t padding_bytes() const;
  // Numbers behind the numbers of the set belong to the cache.
  int InSet() const { return set_ == nullptr ? 0 : set_->size(); }
  int TextsAtOnce() const { return options_.requests ? options_.parallel : 1; }

  AdapterOptions options_;
  AdapterNames known_;
  AdapterParts chosen_parts_;
  std::string chosen_name_;
  int chosen_ = kNone;
  LoraMode mode_ = LoraMode::kGraph;
  bool has_budget_ = false;                   // There is a memory budget, and no `adapter_memory`.
  // All listed adapters; in the cache also adapters that are composed of them. Null: there are none, or the cache has all; then paddings_
  // says how much of each that is listed is padding.
  std::shared_ptr<const AdapterSet> set_;
  std::unique_ptr<AdapterCache> cache_;
  std::vector<int64_t> paddings_;
  std::unique_ptr<AdapterMixes> mixes_;       // Null: none are composed.
  std::unique_ptr<AdapterFolder> folder_;     // Null: there is none.
  std::function<void(int64_t bytes)> on_another_;   // Null: nobody is told.
  mutable std::optional<int> leased_;               // The last one.
};

// A session for texts that come one after another, and the adapter that it has.
struct AdaptedSession {
  std::unique_ptr<Session> session = nullptr;
  AdapterLease adapter = nullptr;
  int number = Adapters::kNone;
};

// Puts an empty session in the place of a session that has another adapter, or of none. The errors of Adapters::Lease and of
// Engine::NewSession; after an error there is no session.
absl::Status UseAdapter(Engine& engine, const Adapters& adapters, int number, AdaptedSession& session);

}  // namespace tessera
