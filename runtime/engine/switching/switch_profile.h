// The times of a model's layers on a device, with graphs of several row counts, and the graphs' loading times. The times are measured once,
// in the warm-up of an engine that switches graphs (prepare_switching.h), and kept in a file next to the model's file.
//
//   const std::string path = SwitchProfilePath("model.gguf", "8gen3");               // "model.gguf.8gen3.switch.json"
//   absl::StatusOr<SwitchProfile> profile = SwitchProfile::Load(path);
//   if (profile.ok()) profile->Check({.device = key, .model = identity}, rows);        // of this very device and model?
//   RETURN_IF_ERROR(measured.Save(path));                                            // whole or not at all
//
// A file is hostile until checked: times out of range, another number of layers and unknown versions are errors, which name the file, the
// value found and the value expected. Values; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/sha256.h"
#include "tessera/npu/switch_choice.h"

namespace tessera {

struct SwitchProfile {
  // Everything on which the times depend, in words and numbers; the measuring program chooses the description.
  std::string device = {};
  Sha256Sum model = {};                // EngineCore::ModelIdentity.
  std::vector<GraphTimes> graphs = {};   // In ascending order of rows, valid by CheckGraphTimes.

  std::string ToJson() const;
  static absl::StatusOr<SwitchProfile> Parse(absl::string_view text, absl::string_view source);   // InvalidArgument.

  absl::Status Save(const std::string& path) const;
  static absl::StatusOr<SwitchProfile> Load(const std::string& path);   // NotFound if there is no file.

  // Returns OK if the times are of this device and model, and there are graphs of these rows and of this number of layers. Else
  // FailedPrecondition (found, expected).
  struct Key { std::string device = {}; Sha256Sum model = {}; int layers = 0; };
  absl::Status Check(const Key& key, absl::Span<const int> rows) const;
};

// Returns the path of the profile, next to the model's file; `device` is part of the name, for readers.
std::string SwitchProfilePath(absl::string_view model_path, absl::string_view device);

// The result of a warm-up.
struct SwitchReady {
  SwitchChoice choice = {};
  bool measured = false;           // False: the profile was read from a file.
  // Why the times were measured although a file was there, or why the profile could not be kept. Neither error ends a run.
  absl::Status profile = {};
};

// Options for the choice of blocks and graphs, once the weights are loaded.
struct SwitchWarmUp {
  std::string path = {};           // The profile's file. Empty: times are measured in each run.
  std::string device = {};         // SwitchProfile::device.
  SwitchQuestion question = {};    // Candidates are among ComputeOptions::graph_rows, or CompiledModel::rows_together().
  std::function<void(const SwitchReady&)> on_ready = nullptr;   // Called when all prefill graphs are loaded. May be null.
};

}  // namespace tessera
