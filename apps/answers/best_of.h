// tessera_generate --best_of=N: reads the flags that choose one of several samples, and shows a table of all samples.
//
//   RETURN_IF_ERROR(CheckBestOfFlags());
//   RETURN_IF_ERROR(PlanTextsOfFlags(options, draft));        // apps/cli/flags/parallel_flags.h counts the samples
//   RETURN_IF_ERROR(PlanBestOf(options));                     // after it: their common prefix counts once, and scoring counts, too
//   ...
//   RETURN_IF_ERROR(WriteBestOf(opened, asked, prompt, *answers));                     // or SampleSetOptionsOfFlags(engine), for requests
//
// --select=best keeps the text with the largest score; every text that is not empty takes part. A vote (majority, weighted) counts answers.
// The answer of a text is the result of ExtractFormula: the contents of \boxed{}, if there is one; the last number is the last resort.
// SameAnswer compares answers. In a weighted vote the weight is the score, or exp(score) for a mean log-probability. Errors: wrong usage of
// the wrong flag. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/scale/sample_set.h"

namespace tessera {

// Checks --best_of, --scorer and --select, together and with the flags of other ways to write.
absl::Status CheckBestOfFlags();

// Makes memory plans include the samples and the scoring. Changes nothing where flags ask for no samples. REQUIRES: CheckBestOfFlags and
// PlanTextsOfFlags were OK.
absl::Status PlanBestOf(EngineOptions& options);

// Returns the options for --best_of samples; a request sets the number of samples itself. raw: see ScorerOptions. Errors: as MakeScorer.
// REQUIRES: the engine's weights are loaded.
absl::StatusOr<SampleSetOptions> SampleSetOptionsOfFlags(Engine& engine, bool raw = false);

// Writes the samples, and shows the progress on standard error. The chosen text alone goes to standard output, or with --json an object.
// --stats adds a SampleSetTable. prompt: the text that a person wrote. REQUIRES: --best_of is 2 or more, the weights are loaded.
absl::Status WriteBestOf(const OpenedEngine& opened, const NewAnswer& asked, const std::string& prompt, ParallelAnswers& answers);

// Returns a table with a row for each sample, the chosen one marked. If the choice was made early, a line tells when.
std::string SampleSetTable(const SampleSetResult& result);

}  // namespace tessera
