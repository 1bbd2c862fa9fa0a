// What the layers of a model take by graphs of several row counts on a device, and what loading those takes: measured once (the warm-up of
// an engine that switches graphs, prepare_switching.h) and kept in a file beside the model's.
//
//   const std::string path = SwitchProfilePath("model.gguf", "8gen3");               // "model.gguf.8gen3.switch.json"
//   absl::StatusOr<SwitchProfile> profile = SwitchProfile::Load(path);
//   if (profile.ok()) profile->Check({.device = key, .model = identity}, rows);        // of this very device and model?
//   RETURN_IF_ERROR(measured.Save(path));                                            // whole or not at all
//
// A file is hostile until checked: times out of range, layers of another number or unknown versions are errors that name the file, what was
// found and what was expected. Values; thread-safe.
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
  std::string device = {};             // All that times depend on, in words and numbers: whoever measures says what that is.
  Sha256Sum model = {};                // EngineCore::ModelIdentity.
  std::vector<GraphTimes> graphs = {};   // In ascending order of rows, as CheckGraphTimes has them.

  std::string ToJson() const;
  static absl::StatusOr<SwitchProfile> Parse(absl::string_view text, absl::string_view source);   // InvalidArgument.

  absl::Status Save(const std::string& path) const;
  static absl::StatusOr<SwitchProfile> Load(const std::string& path);   // NotFound where there is none.

  // OK if it was measured of that device and model, and has graphs of these rows and of so many layers; else FailedPrecondition (found,
  // expected).
  struct Key { std::string device = {}; Sha256Sum model = {}; int layers = 0; };
  absl::Status Check(const Key& key, absl::Span<const int> rows) const;
};

// Beside the model's file; `device` names it for people.
std::string SwitchProfilePath(absl::string_view model_path, absl::string_view device);

// What a warm-up came to.
struct SwitchReady {
  SwitchChoice choice = {};
  bool measured = false;           // Else the profile was there.
  absl::Status profile = {};       // Why it was measured again although a file was there, or could not be kept. Neither ends a run.
};

// How an engine chooses its blocks and graphs, once its weights are there.
struct SwitchWarmUp {
  std::string path = {};           // Where the profile is kept. Empty: it is measured each time.
  std::string device = {};         // SwitchProfile::device.
  SwitchQuestion question = {};    // Candidates are among ComputeOptions::graph_rows, or CompiledModel::rows_together().
  std::function<void(const SwitchReady&)> on_ready = nullptr;   // Called when all prefill graphs are loaded. May be null.
};

}  // namespace tessera
