// Says which adapters texts may have, and how these lie in memory: plain fields, each with its default.
//
//   AdapterOptions options = {.use_adapter = "pirate@0.5", .lora_mode = LoraMode::kInput};
//   ASSIGN_OR_RETURN(options.adapter, ParseAdapterList("pirate:lora/pirate,plain:plain.gguf:0.5"));
//   RETURN_IF_ERROR(CheckAdapterOptions(options));                       // Adapters::Create (adapters.h) checks more, by names and files
//
// Errors are wrong usage of the field that they are about (base/usage_error.h); other fields that a message names are marked
// (base/named_options.h). Options are values. Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/npu/lora_mode.h"

namespace tessera {

inline constexpr char kNoAdapter[] = "none";   // In use_adapter.

struct AdapterSource {
  std::string name = {};
  std::string path = {};   // A PEFT or MLX folder, or a GGUF file.
  float scale = 1;         // Times the scale that the file says.
  friend bool operator==(const AdapterSource&, const AdapterSource&) = default;
};

struct AdapterOptions {
  std::vector<AdapterSource> adapter = {};   // Listed by name.
  // The adapter of a text that names none, as ParseAdapterParts takes it: "pirate", "style,facts@0.5", or "none". Empty: the only adapter
  // that is listed; none where several are.
  std::string use_adapter = {};
  std::optional<LoraMode> lora_mode = {};       // How adapters lie in memory. Nothing: kGraph.
  // Most bytes of adapters in memory: as many are read as have room, the others as texts name them. Nothing: all are read.
  std::optional<int64_t> adapter_memory = {};
  std::string adapter_folder = {};              // A folder (adapter_folder.h) of more adapters. Empty: none.
  bool requests = false;                        // Each text may name its adapter. False: there is one text, which has `use_adapter`.
  int parallel = 1;                             // Most texts of requests that are written at once.
  bool device = false;                          // A modeled device writes, whose time counts no adapter that is read or composed.
};

// Reads "pirate:lora/pirate,plain:plain.gguf:0.5": NAME:PATH or NAME:PATH:SCALE with commas between; empty: none. No path has a comma. A
// path that has colons stands as it is, unless its last colon is before a number: then a scale has to follow. WrongUsage (adapter) for
// anything else, for a name that is there twice or is "none", and for a name that is no printable text.
absl::StatusOr<std::vector<AdapterSource>> ParseAdapterList(absl::string_view list);

// WrongUsage if a field has nothing to do without adapters, or two fields do not go together. Reads no file.
absl::Status CheckAdapterOptions(const AdapterOptions& options);

}  // namespace tessera
