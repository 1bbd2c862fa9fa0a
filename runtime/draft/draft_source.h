// What --draft_model and --tree name, and whether these flags and others about drafts have something to do.
//
//   RETURN_IF_ERROR(CheckDraftFlags(FLAGS_speculate));
//   ASSIGN_OR_RETURN(const DraftSource source, DraftSource::Parse(FLAGS_draft_model));     // no file is read; above, but for a header
//
// Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {

inline constexpr char kDraft[] = "draft";   // Its name in --speculate.

// What --draft_model means: FILE, self:NAME, self:NAME:FILE, self:layers=N or self:layers=N,head=FILE. FILE may be the name of a fetched
// model (model_names.h), but for that of head=.
struct DraftSource {
  std::string file = {};   // Empty: that of --model.
  std::string copy = {};   // One of LowBitCopy::Names(): a copy of the file. Empty: the file itself.
  int layers = 0;          // So many of the first layers of --model; 0: all of the file.
  std::string map = {};    // With layers: a map before the norm (model/exit_map.h). Empty: none.

  // WrongUsage (draft_model) for a copy of another name, or of no file, for layers that are no number above 0, and for a model that is
  // neither a file nor fetched.
  static absl::StatusOr<DraftSource> Parse(absl::string_view text);
  // The file is a folder, or its name ends with .safetensors: a draft head (model/eagle_head.h) or forecasts, no model.
  bool IsHead() const;
  // The file has forecasts (forecast_draft.h), by its header.
  bool HasForecasts() const;
};

// --tree, or "lever" without it; with forecasts "ds2d:auto".
std::string TreeOfFlag();
// Whether a list of --speculate asks for drafts by a model: "auto", or one that names "draft".
bool AsksForDraftModel(absl::string_view speculate);
// Whether one of its drafters reads a history.
bool ReadsHistory(absl::string_view speculate);
// "draft" where only its name counts: it cannot be made.
DrafterRegistry::Kind NamedDraft();

// WrongUsage if one of the flags has nothing to do: "draft" in the list without a model, a model that nobody asks for, a tree, --prune or
// --accept=rejection without a model, the latter at temperature 0 or with forecasts; for a tree that is none, a threshold out of range;
// for a model or a head with --device, whose clock knows none but the target.
absl::Status CheckDraftFlags(absl::string_view speculate);
// WrongUsage (accept) at temperature 0, where no token is drawn.
absl::Status CheckAcceptedByRejection(double temperature);
// --accept=rejection. REQUIRES: CheckDraftFlags was OK.
bool AcceptsByRejection();

}  // namespace tessera
