// Adapters as flags say them: --adapter, --use_adapter, --lora_mode, --adapter_memory and --adapter_folder (runtime/adapters/adapters.h).
//
//   ASSIGN_OR_RETURN(const Adapters adapters, AdaptersOfFlags(options));                     // before the engine is opened
//   ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(adapters.chosen()));
//
// Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/runtime/engine/options.h"

namespace tessera {

// Adapters::Create with what the flags say; with --jsonl each request may name its adapter. WrongUsage of a flag.
absl::StatusOr<Adapters> AdaptersOfFlags(EngineOptions& options);

// A line about adapters that were read again; empty: there were none.
std::string ReadsLine(const Adapters& adapters);

// Adds "adapters", with the way, bytes and padding bytes, to an object; nothing where no adapter is read. workload: as AdaptersOfFlags set
// it.
void WriteAdapters(const Workload& workload, JsonWriter& json);

}  // namespace tessera
