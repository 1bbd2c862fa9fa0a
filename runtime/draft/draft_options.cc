#include "tessera/runtime/draft/draft_options.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/named_options.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/forecast_draft.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/policies/tree_policy.h"

namespace tessera {
namespace {

constexpr char kModel[] = "draft_model", kLever[] = "lever", kPrune[] = "prune", kThreshold[] = "prune_threshold", kAccept[] = "accept";
constexpr char kTree[] = "tree", kMatch[] = "match", kRejection[] = "rejection";

absl::Status CheckPruning(const DraftModelOptions& options) {
  if (options.prune.empty()) {
    if (!options.prune_threshold.has_value()) return absl::OkStatus();
    return NamingOptions({kPrune}, WrongUsage(kThreshold, "without prune", "both"));
  }
  if (options.draft_model.IsNone()) {
    return NamingOptions({kModel}, WrongUsage(kPrune, "without draft_model", "both: it drops rows of what that drafts"));
  }
  if (!options.prune_threshold.has_value()) return absl::OkStatus();
  return ForField(kThreshold, CheckPruneOptions({.threshold = static_cast<float>(*options.prune_threshold)}));
}

absl::Status CheckAccepting(const DraftModelOptions& options) {
  if (options.accept == kMatch) return absl::OkStatus();
  if (options.accept != kRejection) return WrongUsage(kAccept, Quoted(options.accept), absl::StrCat(kMatch, " or ", kRejection));
  if (options.draft_model.IsNone()) {
    return NamingOptions({kModel}, WrongUsage(kAccept, "rejection without draft_model", "both: a draft that is sampled"));
  }
  return options.temperature.has_value() ? CheckAcceptedByRejection(*options.temperature) : absl::OkStatus();
}

// A tree that a model does not grow, and drafts that it does not make.
absl::Status CheckWithoutModel(const DraftModelOptions& options) {
  const std::vector<absl::string_view> names = absl::StrSplit(options.speculate, ',');
  if (std::find(names.begin(), names.end(), kDraftName) != names.end()) {
    return NamingOptions({kModel}, WrongUsage("speculate", "draft without draft_model",
                                              "both: draft_model=FILE, or self:q3 for a copy of the model itself"));
  }
  if (options.tree.empty()) return absl::OkStatus();
  return NamingOptions({kModel}, WrongUsage(kTree, "without draft_model", "both: a tree of what the draft model says"));
}

absl::Status CheckForecasts(const DraftModelOptions& options) {
  if (options.accept == kRejection) {
    return WrongUsage(kAccept, "rejection with forecasts", "match: what they say is not drawn, so it has no distribution of its own");
  }
  return ForecastDraft::Create(options.draft_model.file, options.tree).status();
}

}  // namespace

absl::Status CheckDraftOptions(const DraftModelOptions& options) {
  RETURN_IF_ERROR(CheckPruning(options));
  RETURN_IF_ERROR(CheckAccepting(options));
  RETURN_IF_ERROR(options.draft_model.Check());
  if (options.draft_model.IsNone()) return CheckWithoutModel(options);
  if (!AsksForDraftModel(options.speculate)) {
    const std::string speculate = absl::StrCat("speculate=", options.speculate);
    return NamingOptions({speculate}, WrongUsage(kModel, absl::StrCat("with ", speculate), "auto, draft, or a list with draft"));
  }
  if (options.draft_model.HasForecasts()) return CheckForecasts(options);   // Their rows are in the model's own passes, on a phone, too.
  if (options.device) {
    return NamingOptions({"device"},
                         WrongUsage(kModel, "beside device", "forecasts, or none: the phone's clock knows no second model"));
  }
  return ForField(kTree, MakeTreePolicy(DraftTree(options), {}).status());
}

std::string DraftTree(const DraftModelOptions& options) {
  if (options.draft_model.HasForecasts()) return ForecastDraft::TreeName(options.tree);
  return options.tree.empty() ? kLever : options.tree;
}

absl::Status CheckAcceptedByRejection(double temperature) {
  if (temperature > 0) return absl::OkStatus();
  const std::string found = absl::StrCat("temperature=", temperature);
  return NamingOptions({found}, WrongUsage(kAccept, absl::StrCat("rejection with ", found),
                                           "match, or a temperature above 0: what is not sampled has one token to accept"));
}

bool AsksForDraftModel(absl::string_view speculate) {
  const std::vector<absl::string_view> names = absl::StrSplit(speculate, ',');
  return speculate == "auto" || std::find(names.begin(), names.end(), kDraftName) != names.end();
}

bool ReadsHistory(absl::string_view speculate) {
  DrafterRegistry registry = DrafterRegistry::BuiltIn();
  registry.Add(NamedDraft()).IgnoreError();   // The names are free.
  registry.Add(DrafterRegistry::Siblings()).IgnoreError();
  return registry.ReadsHistory(speculate);
}

DrafterRegistry::Kind NamedDraft() {
  return {.name = kDraftName,
          .make = [](const DraftingSize&) -> absl::StatusOr<std::unique_ptr<Drafter>> {
            return absl::FailedPreconditionError("draft: found no draft model, expected one");
          },
          .most_bytes = [](const DraftingSize&) { return int64_t{0}; }};
}

}  // namespace tessera
