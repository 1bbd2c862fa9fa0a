// The use of memory: for the draft of --draft_model or, under a budget, for pinned weights in the draft's place; and predictions for both
// (spec/speculation/draft_choice.h).
//
//   ASSIGN_OR_RETURN(const DraftUse use, DraftUse::Settle(*engine, *draft, draft->Open(*engine)));      // before weights are loaded
//   WriteError(use.Line());
//   if (!use.drafts) ...                                                                                 // it was left out
//
// Programs that choose (DraftModel::OfFlags) may leave out a draft with --speculate=auto. A draft is left out where pins are predicted to
// be faster, or where memory has no room for the draft. If the list of --speculate names "draft", the draft is used, or the call fails. A
// prediction is for the number of texts that are written at once (Workload::sessions). Predictions rest on measured speeds of this machine,
// and on measurements of earlier runs with --cost_profile. Without such measurements, predictions rest on assumptions, which are named as
// such.
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/draft/draft_model.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/plan/pass_speeds.h"
#include "tessera/spec/speculation/draft_choice.h"

namespace tessera {

// Returns the inputs of the choice. draft_row_bytes: bytes of the weights that the draft computes a token with. The draft is assumed to be
// as fast per byte as the model in memory.
DraftChoiceInputs DraftInputsFor(const PassSpeeds& speeds, const StreamPlan& with_draft, const StreamPlan& with_pins,
                                 double draft_row_bytes);

struct DraftUse {
  struct Prediction {
    DraftChoiceInputs inputs = {};       // Without the profile.
    DraftChoice choice = {};
  };

  bool drafts = true;                    // False: DraftModel::LeaveOut was called.
  bool is_by_name = false;               // --speculate names "draft".
  bool has_retrieval = true;             // Also has drafters that read the text.
  std::string refusal = {};              // The reason why memory has no room for the draft. Empty: there is room.
  bool is_flash_unknown = false;         // Then nothing is predicted.
  std::optional<PassSpeeds> speeds = std::nullopt;           // Set if speeds were measured here.
  std::optional<Prediction> prediction = std::nullopt;       // None: nothing is streamed, or nothing is known.

  // Decides on the draft. opened: the result of DraftModel::Open or Plan. An error that the run can go on without becomes a refusal. Also
  // the errors of the budget's plan, with the draft's part named, and of --cost_profile. REQUIRES: the engine's weights are not loaded, and
  // the engine's plans count the draft.
  static absl::StatusOr<DraftUse> Settle(const Engine& engine, DraftModel& draft, const absl::Status& opened);

  MemoryUse chosen() const;
  std::string Line() const;              // For standard error; empty: nothing to say.
  std::string Table() const;             // For a plan; empty: nothing to say.
  // Writes {"chosen", "by_name", "refusal", "predicted": {"pins": {"tokens_per_second", "tokens_per_pass", "rows"}, "retrieval", "draft",
  // "both"}, "texts", "pinned_bytes", "pinned_bytes_without_draft", "chances": {"draft": {"value", "measured"}, "retrieval"},
  // "draft_token_seconds"}. null: not known.
  void Write(JsonWriter& json) const;

 private:
  absl::Status Predict(const Engine& engine, DraftModel& draft, const BudgetPlan& plan);
};

}  // namespace tessera
