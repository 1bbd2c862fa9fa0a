// Adapters of --adapter, read and checked against the model, and which of them a text has.
//
//   ASSIGN_OR_RETURN(const Adapters adapters, Adapters::OfFlags(options));                   // before the engine is opened
//   ... the engine is opened, its weights are loaded ...
//   RETURN_IF_ERROR(answerer.UseAdapter(adapters.chosen()));                                 // a text that names none
//   ASSIGN_OR_RETURN(const LoraAdapter* adapter, adapters.OfRequest(request.body()));        // one that may: {"adapter": "pirate"}
//
// A text that names none has --use_adapter or, without it, the only adapter; of several it has none. They are read before the engine is
// opened, so that a memory budget counts them like all else that the process has. Wrong flags are wrong usage; errors of files are those
// of ReadAdapter and of opening the model. Threads: one at a time; adapters themselves may be read by any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"
#include "tessera/model/lora.h"
#include "tessera/runtime/engine.h"
#include "tessera/runtime/options.h"

namespace tessera {

struct AdapterSource {
  std::string name = {};
  std::string path = {};   // A PEFT folder, or a GGUF file.
  float scale = 1;         // Times what the file says.
  friend bool operator==(const AdapterSource&, const AdapterSource&) = default;
};

// "pirate:lora/pirate,plain:plain.gguf:0.5": NAME:PATH or NAME:PATH:SCALE with commas between; empty: none. So no path has a comma. One
// that has colons stands as it is, unless what is behind its last colon is a number: then a scale has to follow. WrongUsage (adapter) for
// anything else, for a name that is there twice or is "none", and for one that is no printable text.
absl::StatusOr<std::vector<AdapterSource>> ParseAdapterList(absl::string_view list);

class Adapters {   // Move-only.
 public:
  Adapters() = default;   // None.
  Adapters(Adapters&&) = default;
  Adapters& operator=(Adapters&&) = default;

  // Reads those of --adapter, and sets Workload::adapter_bytes. Must outlive all that is written with them. REQUIRES: options are those of
  // EngineOptionsOfFlags.
  static absl::StatusOr<Adapters> OfFlags(EngineOptions& options);

  const std::vector<std::string>& names() const { return names_; }   // As listed.
  const LoraAdapter* chosen() const { return chosen_ < 0 ? nullptr : &loaded_[static_cast<size_t>(chosen_)]; }   // Null: none.
  // As TextRequest::adapter has it. REQUIRES: one of names(), an empty text, or nothing.
  const LoraAdapter* Named(const std::optional<std::string>& name) const;
  // The error is the request's alone: AdapterNameOf.
  absl::StatusOr<const LoraAdapter*> OfRequest(const JsonValue& body) const;

 private:
  absl::Status Choose(const std::vector<AdapterSource>& sources);
  absl::Status Read(const std::vector<AdapterSource>& sources, EngineOptions& options);

  std::vector<std::string> names_;
  std::vector<LoraAdapter> loaded_;   // In the same order.
  int chosen_ = -1;                   // Its place; -1: none.
};

// Puts an empty session in the place of one that has another adapter. The errors of Engine::NewSession.
absl::Status UseAdapter(Engine& engine, const LoraAdapter* adapter, std::unique_ptr<Session>& session);

}  // namespace tessera
