// --beam=WIDTHxEXPANSIONS, --step_delimiter and --most_steps: a beam search over steps (runtime/scale/beam_run.h), from flags.
//
//   RETURN_IF_ERROR(CheckBeamFlags());                                 // before anything is opened, and without --beam, too
//   RETURN_IF_ERROR(PlanBeamsOfFlags(options));                        // before the engine is opened
//   ASSIGN_OR_RETURN(BeamRunOptions beams, BeamRunOfFlags(sampling));
//   ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, BeamScorerOfFlags(*engine, beams, conversation.raw()));
//   ASSIGN_OR_RETURN(const BeamTexts written, RunBeams(*engine, prompt, *scorer, beams));
//
// Errors: wrong usage of the faulty flag. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/scale/beam_run.h"
#include "tessera/runtime/scale/scorer.h"

namespace tessera {

// Parses "4x4" as width 4, expansions 4. WrongUsage (beam) for a text of any other form, and for more than 64 rows.
absl::StatusOr<BeamOptions> ParseBeamShape(absl::string_view shape);

// Checks the values of the flags of beam search. Refuses flags that do nothing without --beam, and flags that exclude --beam.
absl::Status CheckBeamFlags();

// Returns the search's options from the flags; --n_predict is the most tokens of a text. Errors: as CheckBeams. REQUIRES: --beam is given.
absl::StatusOr<BeamRunOptions> BeamRunOfFlags(const SamplingOptions& sampling);

// Adds the search (PlanBeams) and the scorer's memory to memory plans. REQUIRES: --beam is given.
absl::Status PlanBeamsOfFlags(EngineOptions& options);

// Returns --scorer, by default mean_log_probability.
std::string BeamScorerSpec();

// Makes the scorer of BeamScorerSpec. A reward head scores at the ends of steps. raw: ScorerOptions::raw. Errors: as MakeScorer. REQUIRES:
// the engine's weights are loaded.
absl::StatusOr<std::unique_ptr<Scorer>> BeamScorerOfFlags(Engine& engine, const BeamRunOptions& options, bool raw);

}  // namespace tessera
