#include "tessera/runtime/draft/draft_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/runtime/draft/forecast_draft.h"
#include "tessera/runtime/draft/low_bit_copy.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/model_names.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/policies/tree_policy.h"

namespace tessera {
namespace {

constexpr char kFlag[] = "draft_model", kLever[] = "lever", kPrune[] = "prune", kThreshold[] = "prune_threshold", kAccept[] = "accept";
constexpr char kMatch[] = "match", kRejection[] = "rejection", kHeadKey[] = ",head=";
constexpr char kSources[] = "a file, or a copy of the model: self:q2, self:q3 or self:q4 (self:q3:FILE: of that file), or its first "
                            "layers: self:layers=8 or self:layers=8,head=FILE";

absl::Status CheckPruneFlags() {
  if (FLAGS_prune.empty()) {
    return IsGiven(kThreshold) ? WrongUsage(kThreshold, "without --prune", "both") : absl::OkStatus();
  }
  if (FLAGS_draft_model.empty()) return WrongUsage(kPrune, "without --draft_model", "both: it drops rows of what that drafts");
  return ForField(kThreshold, CheckPruneOptions({.threshold = static_cast<float>(FLAGS_prune_threshold)}));
}

absl::Status CheckAcceptFlag() {
  if (FLAGS_accept == kMatch) return absl::OkStatus();
  if (FLAGS_accept != kRejection) return WrongUsage(kAccept, Quoted(FLAGS_accept), absl::StrCat(kMatch, " or ", kRejection));
  if (FLAGS_draft_model.empty()) return WrongUsage(kAccept, "rejection without --draft_model", "both: a draft that is sampled");
  return CheckAcceptedByRejection(FLAGS_temperature);   // Without the flag the model has the last word.
}

// What --draft_model names, if that has forecasts.
bool NamesForecasts() {
  const absl::StatusOr<DraftSource> source = DraftSource::Parse(FLAGS_draft_model);
  return source.ok() && source->HasForecasts();
}

absl::Status CheckForecastFlags() {
  if (!AcceptsByRejection()) return ForecastDraft::Create(FLAGS_draft_model, FLAGS_tree).status();
  return WrongUsage(kAccept, "rejection with forecasts", "match: what they say is not drawn, so it has no law of its own");
}

// "8" or "8,head=FILE".
absl::StatusOr<DraftSource> ParseLayers(absl::string_view text, absl::string_view rest) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits(kHeadKey, 1));
  DraftSource source = {.map = std::string(parts.second)};
  const bool is_number = absl::SimpleAtoi(parts.first, &source.layers) && source.layers > 0;
  if (!is_number || (source.map.empty() && absl::StrContains(rest, kHeadKey))) return WrongUsage(kFlag, Quoted(text), kSources);
  return source;
}

// file: empty is that of --model.
absl::StatusOr<DraftSource> OfFile(absl::string_view file, const std::string& copy) {
  if (file.empty()) return DraftSource{.copy = copy};
  ASSIGN_OR_RETURN(std::string path, PathOfModel(kFlag, std::string(file)));
  return DraftSource{.file = std::move(path), .copy = copy};
}

}  // namespace

absl::StatusOr<DraftSource> DraftSource::Parse(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "self:")) return OfFile(text, /*copy=*/"");
  if (absl::ConsumePrefix(&rest, "layers=")) return ParseLayers(text, rest);
  const std::pair<std::string, std::string> parts = absl::StrSplit(rest, absl::MaxSplits(':', 1));
  const std::vector<std::string>& names = LowBitCopy::Names();
  const bool is_known = std::find(names.begin(), names.end(), parts.first) != names.end();
  if (!is_known || (parts.second.empty() && absl::StrContains(rest, ':'))) return WrongUsage(kFlag, Quoted(text), kSources);
  return OfFile(parts.second, parts.first);
}

bool DraftSource::IsHead() const {
  std::error_code unknown;
  return copy.empty() && (absl::EndsWith(file, ".safetensors") || (!file.empty() && std::filesystem::is_directory(file, unknown)));
}

bool DraftSource::HasForecasts() const { return copy.empty() && ForecastDraft::IsIn(file); }

std::string TreeOfFlag() {
  if (NamesForecasts()) return ForecastDraft::TreeName(FLAGS_tree);
  return FLAGS_tree.empty() ? kLever : FLAGS_tree;
}

bool AsksForDraftModel(absl::string_view speculate) {
  const std::vector<absl::string_view> names = absl::StrSplit(speculate, ',');
  return speculate == "auto" || std::find(names.begin(), names.end(), kDraft) != names.end();
}

bool ReadsHistory(absl::string_view speculate) {
  DrafterRegistry registry = DrafterRegistry::BuiltIn();
  registry.Add(NamedDraft()).IgnoreError();   // The names are free.
  registry.Add(DrafterRegistry::Siblings()).IgnoreError();
  return registry.ReadsHistory(speculate);
}

DrafterRegistry::Kind NamedDraft() {
  return {.name = kDraft,
          .make = [](const DraftingSize&) -> absl::StatusOr<std::unique_ptr<Drafter>> {
            return absl::FailedPreconditionError("draft: found no draft model, expected one");
          },
          .most_bytes = [](const DraftingSize&) { return int64_t{0}; }};
}

// A tree that --draft_model does not grow, and drafts that it does not make, are refused.
absl::Status CheckDraftFlags(absl::string_view speculate) {
  RETURN_IF_ERROR(CheckPruneFlags());
  RETURN_IF_ERROR(CheckAcceptFlag());
  const std::vector<absl::string_view> names = absl::StrSplit(speculate, ',');
  if (FLAGS_draft_model.empty()) {
    if (std::find(names.begin(), names.end(), kDraft) != names.end()) {
      return WrongUsage("speculate", "draft without --draft_model", "both: --draft_model=FILE, or self:q3 for a copy of the model itself");
    }
    if (!FLAGS_tree.empty()) return WrongUsage("tree", "without --draft_model", "both: a tree of what the draft model says");
    return absl::OkStatus();
  }
  if (!AsksForDraftModel(speculate)) {
    return WrongUsage(kFlag, absl::StrCat("with --speculate=", speculate), "auto, draft, or a list with draft");
  }
  if (NamesForecasts()) return CheckForecastFlags();   // Their rows are in the model's own passes, on a phone, too.
  if (!FLAGS_device.empty()) return WrongUsage(kFlag, "beside --device", "forecasts, or none: the phone's clock knows no second model");
  return ForField("tree", MakeTreePolicy(TreeOfFlag(), {}).status());
}

absl::Status CheckAcceptedByRejection(double temperature) {
  if (temperature > 0) return absl::OkStatus();
  return WrongUsage(kAccept, absl::StrCat("rejection with --temperature=", temperature),
                    "match, or a temperature above 0: what is not sampled has one token to accept");
}

bool AcceptsByRejection() { return FLAGS_accept == kRejection; }

}  // namespace tessera
