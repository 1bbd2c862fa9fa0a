// The ways to choose that a grid judges, by the names of --methods.
//
//   ASSIGN_OR_RETURN(const std::vector<std::string> methods, GridMethodsOf("one,majority,best_of_n"));
//
//   one         a single sample, whatever N
//   majority    the most frequent answer
//   weighted    the answer with the largest sum of weights, by a scorer
//   best_of_n   the sample of the largest score, by a scorer
//   beam        a search over steps with N rows: N / 4 beams with 4 expansions each, by a scorer
//
// runtime/scale/vote.h and beam_search.h have the rules. A scorer is named as --scorer has it (apps/cli/flags/scorer_flags.h), or is a
// figure that is computed from a sample's text: arithmetic, brevity, random (candidate_scores.h). Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/scale/vote.h"

namespace tessera {

const std::vector<std::string>& GridMethodNames();

// WrongUsage (methods) for a name that is not known, or is there twice.
absl::StatusOr<std::vector<std::string>> GridMethodsOf(absl::string_view list);

// How it chooses among samples that are whole; nullopt: not so (one, beam). REQUIRES: a name of GridMethodNames(), as the next one.
std::optional<Selection> SelectionOf(absl::string_view method);

// Whether it asks a scorer.
bool AsksScorer(absl::string_view method);

// The name of the figure by which a scorer's scores go: that of "reward:FILE" is reward.
std::string FigureOfScorer(absl::string_view scorer);
// Whether each sample's file or text has it, so that no model has to run again.
bool IsOwnFigure(absl::string_view figure);

}  // namespace tessera
