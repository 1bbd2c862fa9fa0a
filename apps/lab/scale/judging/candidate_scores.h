// Scores of recorded samples, by the name of a scorer.
//
//   ASSIGN_OR_RETURN(const std::vector<double> scores, ScoresOf("arithmetic", question.candidates, seed));
//   const std::vector<double> weights = WeightsOf("arithmetic", scores);           // for weighted votes
//
//   arithmetic   the share of a text's own checks that hold: each calculation between << and >> (Cobbe et al. 2021) gives what is written
//                behind its equal sign, and so does the text after it; the answer is the result of one of them
//   brevity      1 / words: the shortest text is the best
//   random       a seeded number from 0 to 1, to compare with: best of N by it is a sample of N
//   any other    the figure of this name in a file of samples (candidates.h), such as mean_log_probability
//
// A weight is the score itself. For a name that ends with log_probability the weight is the exp of the score (Wang et al. 2022). Threads:
// any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/scale/judging/candidates.h"

namespace tessera {

// Returns a score for each sample. The draws of "random" depend on `seed`, the question and the sample's place. WrongUsage (scorer) if a
// sample has no such figure.
absl::StatusOr<std::vector<double>> ScoresOf(const std::string& scorer, const Question& question, uint64_t seed);

// Returns a weight for each score. WrongUsage (scorer) for a score below 0 that is no log-probability, since no weight is negative.
absl::StatusOr<std::vector<double>> WeightsOf(const std::string& scorer, absl::Span<const double> scores);

double ArithmeticScore(const JudgedSample& candidate);

}  // namespace tessera
