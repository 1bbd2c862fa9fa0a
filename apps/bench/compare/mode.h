// One of the two ways to write a text that tessera_verify compares: flags with other values than on the command line.
//
//   ASSIGN_OR_RETURN(const Mode mode, Mode::Parse("speculate=auto threads=1 memory_budget=96MiB rows=64"));
//   ASSIGN_OR_RETURN(const EngineOptions options, mode.Apply());     // in a process of its own: it sets flags
//
// A setting is NAME=VALUE: any flag of the model, of streaming or of speculation, or `rows`, the most rows per pass. Threads: one at a
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
  // Settings separated by blanks. InvalidArgument (found, expected, the nearest name) for an unknown name, or one that is there twice.
  static absl::StatusOr<Mode> Parse(absl::string_view text);

  // Sets the flags and reads them; a flag for both ways that this one passes over is left out. Errors are those of EngineOptionsOfFlags
  // and of wrong values; drafts are planned afterwards.
  absl::StatusOr<EngineOptions> Apply() const;

  bool Sets(absl::string_view name) const;

  // True for a flag whose value does nothing here: there is a setting of this name, or others leave it nothing to do. What is drafted by
  // (--cost_profile, --history, --draft_model, --tree) does nothing without drafters that read it; the reference path has no --kernels and
  // no --kv_format, the npu path no --kv_format, and no other path has a --recipe or --kv_block.
  bool PassesOver(const std::string& flag) const;

  // The names of all settings.
  static std::vector<std::string> Names();

 private:
  std::string ValueOf(const std::string& name) const;   // By its own setting, else by the flag.
  bool LeavesNothingTo(const std::string& flag) const;

  std::vector<std::pair<std::string, std::string>> settings_;
};

}  // namespace tessera
