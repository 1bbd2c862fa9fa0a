// One of the two modes of decoding that tessera_verify compares: flags with other values than on the command line.
//
//   ASSIGN_OR_RETURN(const Mode mode, Mode::Parse("speculate=auto threads=1 memory_budget=96MiB rows=64"));
//   ASSIGN_OR_RETURN(const EngineOptions options, mode.Apply());     // in a process of its own: it sets flags
//
// A setting is NAME=VALUE: any flag of the model, of streaming or of speculation, or `rows`, the maximum rows per pass. Threads: one at a
// time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

class Mode {
 public:
  // Parses settings separated by blanks. InvalidArgument (found, expected, the nearest name) for an unknown name, or for a name given
  // twice.
  static absl::StatusOr<Mode> Parse(absl::string_view text);

  // Sets the flags and reads the engine's options. A flag for both modes that this mode passes over is left out. Returns the errors of
  // EngineOptionsOfFlags and of wrong values. Drafts are planned afterwards.
  absl::StatusOr<EngineOptions> Apply() const;

  bool Sets(absl::string_view name) const;

  // True for a flag whose value has no effect in this mode: a setting has the same name, or other settings make the flag useless. Flags of
  // drafting (--cost_profile, --history, --draft_model, --tree) have no effect without drafters that read these flags. The reference path
  // has no --kernels and no --kv_format, and the npu path has no --kv_format. Only the npu path has --recipe and --kv_block.
  bool PassesOver(const std::string& flag) const;

  // Returns the names of all settings.
  static std::vector<std::string> Names();

 private:
  std::string ValueOf(const std::string& name) const;   // The setting's value, else the flag's.
  bool LeavesNothingTo(const std::string& flag) const;

  std::vector<std::pair<std::string, std::string>> settings_;
};

}  // namespace tessera
