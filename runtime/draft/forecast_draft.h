// Forecasts as a draft: --draft_model=FILE, where the file holds what model/forecasts.h reads, and --tree=ds2d:3,2. The model drafts for
// itself, so there is no second model.
//
//   if (ForecastDraft::IsIn(source.file)) ...                                              // reads the file's header
//   ASSIGN_OR_RETURN(const std::unique_ptr<ForecastDraft> draft, ForecastDraft::Create("ds2d.safetensors", FLAGS_tree));
//   options.workload.reserved_slots = draft->slots();                                     // before the engine is opened
//   RETURN_IF_ERROR(draft->Open(core.model()));                                           // its numbers, checked against the model
//   ASSIGN_OR_RETURN(std::unique_ptr<Drafter> drafter, draft->NewDrafter(core));          // the weights are loaded
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/forecasts.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/loaded_model.h"
#include "tessera/runtime/engine/placed_forecasts.h"
#include "tessera/spec/drafters/forecast_drafter.h"

namespace tessera {

class ForecastDraft {
 public:
  // False also for a file that cannot be read, or is of another kind.
  static bool IsIn(const std::string& path);
  // --tree as it is reported: "ds2d:auto" where the configuration is chosen by what is accepted.
  static std::string TreeName(absl::string_view tree);
  // tree: "" or "ds2d", as "ds2d:auto"; else "ds2d:" and a configuration (spec/trees/branches.h). WrongUsage (tree) for what is none of
  // these, and for more branches than the file has forecasts; WrongUsage (draft_model) for a file that is wrong.
  static absl::StatusOr<std::unique_ptr<ForecastDraft>> Create(const std::string& path, absl::string_view tree);

  int slots() const { return sizes_.slots; }   // In the target's cache.
  // The errors of Forecasts::Open.
  absl::Status Open(const LoadedModel& target);
  // After Open: the numbers, beside those that lie in the cache, and what a drafter and the logits of its forecasts take for a text.
  int64_t bytes() const { return forecasts_->bytes(); }
  int64_t TextBytes(int vocabulary) const;
  // The first one puts the prefix into the target's cache, for all of them. The errors of PlacedForecasts::Place.
  // REQUIRES: Open was OK, with this core's model.
  absl::StatusOr<std::unique_ptr<Drafter>> NewDrafter(const std::shared_ptr<EngineCore>& core);
  // "ds2d.safetensors, 16 slots, 3 forecasts".
  std::string Describe() const;

 private:
  ForecastDraft(std::string path, const ForecastSizes& sizes) : path_(std::move(path)), sizes_(sizes) {}

  const std::string path_;
  const ForecastSizes sizes_;
  ForecastDrafter::Options options_;
  std::shared_ptr<const Forecasts> forecasts_;       // Null: Open was not called.
  std::shared_ptr<const PlacedForecasts> placed_;    // Null: no drafter was made.
};

}  // namespace tessera
