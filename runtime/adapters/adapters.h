// Adapters of --adapter, read and checked against the model, and which of them a text has.
//
//   ASSIGN_OR_RETURN(const Adapters adapters, Adapters::OfFlags(options));                   // before the engine is opened
//   ... the engine is opened, its weights are loaded ...
//   ASSIGN_OR_RETURN(const int number, adapters.OfRequest(request.body()));   // {"adapter": "pirate@0.5"}; chosen() if it names none
//   ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(number));     // in memory while there is a lease
//   RETURN_IF_ERROR(answerer.UseAdapter(adapter.get()));
//
// A text that names none has --use_adapter or, without it, the only adapter; of several it has none. They are read before the engine is
// opened, so that a memory budget counts them like all else that the process has; --lora_mode says how they lie in memory. With
// --adapter_memory files are checked and as many are read as it has room for; the others are read as texts name them, and take the places
// of the adapters that were used least recently (runtime/engine/adapter_cache.h). A text may also have one of --adapter_folder
// (adapter_folder.h), and an adapter that is composed of several (runtime/engine/adapter_mixes.h). Wrong flags are wrong usage; errors of
// files are the errors of ReadAdapter and of opening the model. Threads: one at a time; adapters themselves may be read by any.
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
#include "absl/strings/string_view.h"
#include "tessera/runtime/adapters/adapter_base.h"
#include "tessera/runtime/adapters/adapter_folder.h"
#include "tessera/base/json.h"
#include "tessera/base/json_writer.h"
#include "tessera/model/adapter_set.h"
#include "tessera/runtime/adapters/adapter_parts.h"
#include "tessera/runtime/engine/adapter_cache.h"
#include "tessera/runtime/engine/adapter_mixes.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

struct AdapterSource {
  std::string name = {};
  std::string path = {};   // A PEFT or MLX folder, or a GGUF file.
  float scale = 1;         // Times what the file says.
  friend bool operator==(const AdapterSource&, const AdapterSource&) = default;
};

// "pirate:lora/pirate,plain:plain.gguf:0.5": NAME:PATH or NAME:PATH:SCALE with commas between; empty: none. So no path has a comma. One
// that has colons stands as it is, unless what is behind its last colon is a number: then a scale has to follow. WrongUsage (adapter) for
// anything else, for a name that is there twice or is "none", and for one that is no printable text.
absl::StatusOr<std::vector<AdapterSource>> ParseAdapterList(absl::string_view list);

class Adapters {   // Move-only.
 public:
  static constexpr int kNone = -1;

  Adapters() = default;   // None.
  Adapters(Adapters&&) = default;
  Adapters& operator=(Adapters&&) = default;

  // Reads those of --adapter, and sets Workload::adapter_bytes, adapter_padding and adapter_room. REQUIRES: options are those of
  // EngineOptionsOfFlags.
  static absl::StatusOr<Adapters> OfFlags(EngineOptions& options);

  const std::vector<std::string>& names() const { return known_.listed; }   // As listed.
  const AdapterNames& known() const { return known_; }                      // With the names of --adapter_folder.
  // Returns the number of the adapter of a program's one text, or kNone. Adapters of names() have their places there; others follow.
  int chosen() const { return chosen_; }
  const std::string& chosen_name() const { return chosen_name_; }           // "pirate,plain@0.5"; empty: none.
  // Returns the number of an adapter as a request has it (AdapterPartsOf); for a request that names none the chosen one's. A number is good
  // until the next call, or while its lease lives. Errors concern the request alone: the errors of AdapterFolder,
  // and WrongUsage (adapter) for one that is composed where none may be: with --lora_mode=mask, with --device but by --use_adapter, and
  // with --memory_budget alone, which has no room for it. REQUIRES: names that known() has.
  absl::StatusOr<int> Named(const std::optional<AdapterParts>& parts) const;
  // The error concerns the request alone: the errors of AdapterPartsOf and Named.
  absl::StatusOr<int> OfRequest(const JsonValue& body) const;

  // Null for kNone. With --adapter_memory there are the errors of AdapterCache::Lease, and for a composed adapter the errors of
  // AdapterMixes::Lease, all of them of a text alone. ResourceExhausted: there may be room once other leases have ended. Whoever has a
  // lease and takes another gives the first one back before: room is for --parallel of them.
  absl::StatusOr<AdapterLease> Lease(int number) const;

  LoraMode mode() const { return mode_; }
  // By target, the rank of which a static graph has its products: the largest of any adapter or, under a mask, all together. Empty where
  // there are no adapters, and for graphs of tasks, which have their own.
  std::vector<int> GraphRanks() const;
  // Called with the bytes that an adapter takes where a lease is for another adapter than the lease before: from the second one on, and
  // also for none after one.
  void OnAnother(std::function<void(int64_t bytes)> on_another) { on_another_ = std::move(on_another); }

  // "adapters: 3 by input, 12.5 MiB, of which 1.2 MiB are padding\n"; empty: there are none.
  std::string StatsLine() const;
  // A line about adapters that were read again; empty: there were none.
  std::string ReadsLine() const;

 private:
  absl::Status Choose(const std::vector<AdapterSource>& sources);
  absl::Status CheckFlags(const std::vector<AdapterSource>& sources);
  absl::Status Read(const std::vector<AdapterSource>& sources, EngineOptions& options);
  absl::Status ReadAll(const std::vector<AdapterSource>& sources, EngineOptions& options);
  absl::Status ReadAsNamed(const std::vector<AdapterSource>& sources, EngineOptions& options);
  absl::Status FillCache(int64_t most, EngineOptions& options);
  absl::Status MixAfterSet(const ModelConfig& config);
  absl::Status CheckMayMix(const std::string& name) const;
  absl::StatusOr<int> NumberOf(const AdapterParts& parts) const;
  int64_t bytes() const { return (set_ != nullptr ? set_->bytes() : 0) + (cache_ != nullptr ? cache_->bytes() : 0); }
  int64_t padding_bytes() const;
  // Numbers behind the numbers of the set belong to the cache.
  int InSet() const { return set_ == nullptr ? 0 : set_->size(); }

  AdapterNames known_;
  AdapterParts chosen_parts_;
  std::string chosen_name_;
  int chosen_ = kNone;
  LoraMode mode_ = LoraMode::kGraph;
  bool has_budget_ = false;                   // --memory_budget, and no --adapter_memory.
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

// Adds "adapters", with the way, bytes and padding bytes, to an object; nothing where no adapter is read. workload: as OfFlags set it.
void WriteAdapters(const Workload& workload, JsonWriter& json);

// Puts an empty session in the place of one that has another adapter, or of none. The errors of Adapters::Lease and of Engine::NewSession;
// after one there is no session.
absl::Status UseAdapter(Engine& engine, const Adapters& adapters, int number, AdaptedSession& session);

}  // namespace tessera
