// Whether memory goes to the draft of --draft_model or, under a budget, to weights that are pinned in its place; and what is predicted of
// both (spec/speculation/draft_choice.h).
//
//   ASSIGN_OR_RETURN(const DraftUse use, DraftUse::Settle(*engine, *draft, draft->Open(*engine)));      // before weights are loaded
//   WriteError(use.Line());
//   if (!use.drafts) ...                                                                                 // it was left out
//
// With --speculate=auto a draft is left out where pins are predicted to be faster, or where memory has no room for it, by programs that
// choose (DraftModelOfFlags); a list that names "draft" gets it, or the error. Predictions are of as many texts as are written at once
// (Workload::sessions). They rest on measured speeds of this machine, on what earlier runs of --cost_profile measured, and where there is
// none on assumptions, which are named as such.
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

// draft_row_bytes: of the weights that the draft computes a token with. It is taken to be as fast for each byte as the model is in memory.
DraftChoiceInputs DraftInputsFor(const PassSpeeds& speeds, const StreamPlan& with_draft, const StreamPlan& with_pins,
                                 double draft_row_bytes);

struct DraftUse {
  struct Prediction {
    DraftChoiceInputs inputs = {};       // Without the profile.
    DraftChoice choice = {};
  };

  bool drafts = true;                    // False: DraftModel::LeaveOut was called.
  bool is_by_name = false;               // --speculate names "draft".
  bool has_retrieval = true;             // Drafters that read the text, too.
  std::string refusal = {};              // Why memory has no room for it. Empty: it has.
  bool is_flash_unknown = false;         // So nothing is predicted.
  std::optional<PassSpeeds> speeds = std::nullopt;           // Where they were measured on the way.
  std::optional<Prediction> prediction = std::nullopt;       // None: nothing is streamed, or nothing is known.

  // opened: what DraftModel::Open or Plan returned; an error that the run goes on without is a refusal. Also the errors of the budget's
  // plan, with the draft's part named, and of --cost_profile. REQUIRES: the engine's weights are not loaded; its plans count the draft.
  static absl::StatusOr<DraftUse> Settle(const Engine& engine, DraftModel& draft, const absl::Status& opened);

  MemoryUse chosen() const;
  std::string Line() const;              // For standard error; empty: there is nothing to say.
  std::string Table() const;             // For a plan; empty likewise.
  // {"chosen", "by_name", "refusal", "predicted": {"pins": {"tokens_per_second", "tokens_per_pass", "rows"}, "retrieval", "draft", "both"},
  // "texts", "pinned_bytes", "pinned_bytes_without_draft", "chances": {"draft": {"value", "measured"}, "retrieval"},
  // "draft_token_seconds"}. null: not known.
  void Write(JsonWriter& json) const;

 private:
  absl::Status Predict(const Engine& engine, DraftModel& draft, const BudgetPlan& plan);
};

}  // namespace tessera
