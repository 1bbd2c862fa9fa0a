// The methods of choosing that a grid judges, by the names of --methods.
//
//   ASSIGN_OR_RETURN(const std::vector<std::string> methods, GridMethodsOf("one,majority,best_of_n"));
//
//   one         a single sample, whatever N
//   majority    the most frequent answer
//   weighted    the answer with the largest sum of weights, by a scorer
//   best_of_n   the sample of the largest score, by a scorer
//   beam        a search over steps with N rows: N / 4 beams with 4 expansions each, by a scorer
//
// runtime/scale/vote.h and beam_search.h have the rules. A scorer's name is a value of --scorer (apps/cli/flags/scorer_flags.h), or the
// name of a figure of a sample's text. Such figures are arithmetic, brevity and random (candidate_scores.h). Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/scale/vote.h"

namespace tessera {

const std::vector<std::string>& GridMethodNames();

// Parses names separated by commas. WrongUsage (methods) for an unknown name, or a name given twice.
absl::StatusOr<std::vector<std::string>> GridMethodsOf(absl::string_view list);

// Returns the rule for choosing among whole samples; nullopt: the method does not choose so (one, beam). REQUIRES: a name of
// GridMethodNames(), here and for AsksScorer.
std::optional<Selection> SelectionOf(absl::string_view method);

// Whether the method asks a scorer.
bool AsksScorer(absl::string_view method);

// Returns the name of the figure with a scorer's scores: "reward" for "reward:FILE".
std::string FigureOfScorer(absl::string_view scorer);
// Whether each sample's file or text has the figure, so that no model has to run again.
bool IsOwnFigure(absl::string_view figure);

}  // namespace tessera
