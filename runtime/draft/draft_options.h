// Says how texts are drafted by a model, a head or forecasts, and who hears of it: plain fields, each with its default.
//
//   DraftModelOptions options = {.draft_model = {.copy = "q3"}, .cache_folder = "/home/a/.cache/tessera"};
//   options.messages.on_warning = [](const std::string& warning) { std::cerr << warning << "\n"; };
//   RETURN_IF_ERROR(CheckDraftOptions(options));                          // DraftModel::Create (draft_model.h) checks them, too
//   DraftTree(options);                                                  // "lever"
//
// Errors are wrong usage of the field that they are about (base/usage_error.h); other fields that a message names are marked
// (base/named_options.h). Options are values. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/draft/draft_source.h"
#include "tessera/runtime/draft/low_bit_copy.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {

class Engine;

inline constexpr char kDraftName[] = "draft";   // The name of a draft model in lists of drafters.

struct DraftModelOptions {
  std::string speculate = "auto";   // The texts' list of drafters (SpeculationOptions::speculate): "auto", or a list with "draft".
  DraftSource draft_model = {};     // None: nothing is drafted by a model.
  // How a draft tree grows (MakeTreePolicy). Empty: "lever", and "ds2d:auto" for forecasts.
  std::string tree = {};
  std::string prune = {};           // The file of an exit predictor, by which rows of drafts are dropped. Empty: no rows are dropped.
  std::optional<double> prune_threshold = {};   // PruneOptions::threshold. Nothing: the default there.
  std::string accept = "match";     // How drafts are accepted: "match", or "rejection" for drafts that are sampled.
  // The temperature at which texts are drawn, and drafts with "rejection". Nothing: the temperature that the target's file recommends.
  std::optional<double> temperature = {};
  uint64_t seed = 0;                // The seed of drafts that are sampled.
  bool device = false;              // The target runs on a modeled device, whose clock knows no second model.
  // The run may go on without the draft where it chooses its drafters itself (speculate is "auto"), unless the draft is forecasts.
  bool may_be_left_out = false;
  // The folder of what may be made again: copies of models (drafts/) and sums of their files (sums/). Empty: no copy can be made.
  std::string cache_folder = {};
  DraftMessages messages = {};
  // Called with the draft's engine each time that it was opened, so that the caller can ask it about shortages. Null: nobody is told.
  std::function<void(const Engine& draft)> on_opened = nullptr;
};

// WrongUsage if a field is out of range or has nothing to do: "draft" in the list without a draft model; a model that the list does not ask
// for; a tree, a predictor or rejection without a model; a threshold without a predictor; rejection at temperature 0 or with forecasts; a
// model or a head on a modeled device. Reads no file but the header of one that may have forecasts.
absl::Status CheckDraftOptions(const DraftModelOptions& options);

// Returns the tree as reports have it: "lever", "ds2d:auto". REQUIRES: CheckDraftOptions is OK.
std::string DraftTree(const DraftModelOptions& options);

// WrongUsage (accept) at temperature 0, where no token is drawn.
absl::Status CheckAcceptedByRejection(double temperature);

// Returns whether a list of drafters asks for drafts by a model: "auto", or a list that names "draft".
bool AsksForDraftModel(absl::string_view speculate);
// Returns whether one of the list's drafters reads a history.
bool ReadsHistory(absl::string_view speculate);
// Returns "draft" for registries where only the name counts: it cannot be made.
DrafterRegistry::Kind NamedDraft();

}  // namespace tessera
