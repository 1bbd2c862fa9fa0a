#include "tessera/runtime/draft/forecast_draft.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {
namespace {

constexpr char kTree[] = "tree", kName[] = "ds2d", kAuto[] = "auto";

// Empty: to be chosen.
absl::StatusOr<Branches> BranchesOf(absl::string_view tree, int most_rows) {
  absl::string_view rest = tree;
  if (!tree.empty() && !absl::ConsumePrefix(&rest, kName)) {
    return WrongUsage(kTree, absl::StrCat(Quoted(tree), " with forecasts"), "ds2d:auto, or a configuration such as ds2d:3,2");
  }
  if (rest.empty()) return Branches();
  if (!absl::ConsumePrefix(&rest, ":")) return WrongUsage(kTree, Quoted(tree), "ds2d:auto, or a configuration such as ds2d:3,2");
  if (rest == kAuto) return Branches();
  absl::StatusOr<Branches> branches = ParseBranches(rest, most_rows);
  RETURN_IF_ERROR(ForField(kTree, branches.status()));
  return branches;
}

}  // namespace

bool ForecastDraft::IsIn(const std::string& path) {
  if (!absl::EndsWith(path, ".safetensors")) return false;
  const absl::StatusOr<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::Open(path);
  return file.ok() && Forecasts::IsIn(**file);
}

std::string ForecastDraft::TreeName(absl::string_view tree) {
  return tree.empty() || tree == kName ? absl::StrCat(kName, ":", kAuto) : std::string(tree);
}

absl::StatusOr<std::unique_ptr<ForecastDraft>> ForecastDraft::Create(const std::string& path, absl::string_view tree) {
  const absl::StatusOr<ForecastSizes> sizes = Forecasts::SizesIn(path);
  RETURN_IF_ERROR(ForFile("draft_model", sizes.status()));
  auto draft = std::unique_ptr<ForecastDraft>(new ForecastDraft(path, *sizes));
  draft->options_ = {.forecasts = sizes->forecasts, .rows = Speculator::Options().max_rows};
  ASSIGN_OR_RETURN(draft->options_.branches, BranchesOf(tree, draft->options_.rows));
  const size_t branches = draft->options_.branches.size();
  if (branches <= static_cast<size_t>(sizes->forecasts)) return draft;
  return WrongUsage(kTree, absl::StrCat(branches, " branches"),
                    absl::StrCat("at most ", sizes->forecasts, ", as many as the forecasts of ", path));
}

absl::Status ForecastDraft::Open(const LoadedModel& target) {
  ASSIGN_OR_RETURN(forecasts_, Forecasts::Open(path_, target.file(), target.config()));
  if (forecasts_->sizes() == sizes_) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path_, ": found a file that changed while it was read, expected it to stay as it is"));
}

int64_t ForecastDraft::TextBytes(int vocabulary) const {
  return ForecastDrafter::MostBytes(options_) + int64_t{sizes_.forecasts} * vocabulary * static_cast<int64_t>(sizeof(float));
}

absl::StatusOr<std::unique_ptr<Drafter>> ForecastDraft::NewDrafter(const std::shared_ptr<EngineCore>& core) {
  if (placed_ == nullptr) {
    ASSIGN_OR_RETURN(placed_, PlacedForecasts::Place(core, forecasts_));
  }
  return std::unique_ptr<Drafter>(std::make_unique<ForecastDrafter>(placed_, options_));
}

std::string ForecastDraft::Describe() const {
  return absl::StrCat(path_.substr(path_.rfind('/') + 1), ", ", sizes_.slots, " slots, ", sizes_.forecasts, " forecasts");
}

}  // namespace tessera
