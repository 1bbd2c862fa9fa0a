// A draft model as flags say it: --draft_model, --tree, --prune, --prune_threshold and --accept (runtime/draft/draft_options.h).
//
//   ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModelOfFlags(FLAGS_speculate));     // null without --draft_model
//   RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(draft), options));
//
// Messages go to standard error, warnings and notes once. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/draft/draft_model.h"
#include "tessera/runtime/draft/draft_options.h"
#include "tessera/runtime/draft/draft_source.h"
#include "tessera/runtime/draft/low_bit_copy.h"

namespace tessera {

// DraftModel::Create with what the flags say. speculate: the list that counts. chooses: with the list "auto" the program may go on without
// the draft (draft_or_pins.h). WrongUsage of a flag.
absl::StatusOr<std::shared_ptr<DraftModel>> DraftModelOfFlags(absl::string_view speculate, bool chooses = false);

// A draft's source as --draft_model says it: DraftSource::Parse, where FILE may be the name of a fetched model (model_names.h), except the
// file of a map. WrongUsage (draft_model) for a model that is neither a file nor fetched, too.
absl::StatusOr<DraftSource> ParseDraftModel(absl::string_view text);

// --tree, or "lever" without it; with forecasts "ds2d:auto". REQUIRES: DraftModelOfFlags was OK.
std::string TreeOfFlag();

// A copy of a model (LowBitCopy::Of) in the program's cache folder. WrongUsage (draft_model) without such a folder.
absl::StatusOr<LowBitCopy> LowBitCopyOf(const std::string& model, absl::string_view name);

// Writes warnings and notes, each once, and how far a copy has come.
DraftMessages ShownDraftMessages();

}  // namespace tessera
