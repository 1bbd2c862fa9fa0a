// Forecasts as a draft, from a file that model/forecasts.h reads, with a tree such as "ds2d:3,2". The model drafts for itself: there is no
// second model.
//
//   if (ForecastDraft::IsIn("ds2d.safetensors")) ...                                      // reads the file's header
//   ASSIGN_OR_RETURN(const std::unique_ptr<ForecastDraft> draft, ForecastDraft::Create("ds2d.safetensors", "ds2d:3,2"));
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
  // Returns whether the file has forecasts. False also for a file that cannot be read, or is of another kind.
  static bool IsIn(const std::string& path);
  // Returns the tree as reports have it: "ds2d:auto" where accepted guesses choose the configuration.
  static std::string TreeName(absl::string_view tree);
  // tree: "" or "ds2d", as "ds2d:auto"; else "ds2d:" and a configuration (spec/trees/branches.h). WrongUsage (tree) for any other text, and
  // for more branches than the file has forecasts; WrongUsage (draft_model) for a file that is wrong.
  static absl::StatusOr<std::unique_ptr<ForecastDraft>> Create(const std::string& path, absl::string_view tree);

  int slots() const { return sizes_.slots; }   // In the target's cache.
  // Reads the numbers, and checks them against the target. The errors of Forecasts::Open.
  absl::Status Open(const LoadedModel& target);
  // Returns the bytes of the numbers, without the prefix in the cache. REQUIRES: Open was OK.
  int64_t bytes() const { return forecasts_->bytes(); }
  // Returns the bytes of a text's drafter and of the logits of its forecasts. REQUIRES: Open was OK.
  int64_t TextBytes(int vocabulary) const;
  // Makes a drafter. The first drafter puts the prefix into the target's cache, for all drafters. The errors of PlacedForecasts::Place.
  // REQUIRES: Open was OK, with this core's model.
  absl::StatusOr<std::unique_ptr<Drafter>> NewDrafter(const std::shared_ptr<EngineCore>& core);
  // Returns "ds2d.safetensors, 16 slots, 3 forecasts".
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
