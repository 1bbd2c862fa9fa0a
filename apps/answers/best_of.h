// tessera_generate --best_of=N: how flags say which of several samples is kept, and a table of what became of each.
//
//   RETURN_IF_ERROR(CheckBestOfFlags());
//   RETURN_IF_ERROR(PlanTextsOfFlags(options, draft));        // apps/cli/flags/parallel_flags.h counts the samples
//   RETURN_IF_ERROR(PlanBestOf(options));                     // after it: what they begin with counts once, and scoring counts, too
//   ...
//   RETURN_IF_ERROR(WriteBestOf(opened, asked, prompt, *answers));                     // or SampleSetOptionsOfFlags(engine), for requests
//
// --select=best keeps the text of the largest score, and every text that is not empty counts. A vote (majority, weighted) is of answers:
// what ExtractFormula finds, \boxed{} first and the last number last, compared by SameAnswer. Weights of votes are the scores, of a mean
// log-probability its exp. Errors are wrong usage of the flag that they are about. Threads: one at a time.
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

// --best_of, --scorer and --select beside each other and beside the flags of other ways to write.
absl::Status CheckBestOfFlags();

// Changes nothing where flags ask for no samples. REQUIRES: CheckBestOfFlags was OK, and PlanTextsOfFlags.
absl::Status PlanBestOf(EngineOptions& options);

// For as many samples as --best_of; requests say it themselves. raw: as ScorerOptions has it. Errors: those of MakeScorer. REQUIRES: the
// engine's weights are loaded.
absl::StatusOr<SampleSetOptions> SampleSetOptionsOfFlags(Engine& engine, bool raw = false);

// Writes the samples, and shows on standard error how far that is. The chosen text alone goes to standard output, or with --json an object;
// what --stats adds has a SampleSetTable. prompt: as a person wrote it. REQUIRES: --best_of is 2 or more, the weights are loaded.
absl::Status WriteBestOf(const OpenedEngine& opened, const NewAnswer& asked, const std::string& prompt, ParallelAnswers& answers);

// A row for each sample, the chosen one marked, and a line that says when the choice was made if that was early.
std::string SampleSetTable(const SampleSetResult& result);

}  // namespace tessera
