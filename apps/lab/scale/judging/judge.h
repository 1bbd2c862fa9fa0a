// How often each way to choose among N samples chooses a right one, from recorded samples.
//
//   const std::vector<MethodFigures> figures = JudgeSelections(questions, {.samples = {1, 2, 4}, .seed = 7});
//   figures[0].method, figures[0].samples, figures[0].accuracy.mean;            // "one sample", 1, 0.43
//
// N of a question's samples are taken in many orders: in all there are of them, where these are at most `draws`, else in so many seeded
// ones. So the first sample is any of them, and ties and early stops are not those of one order. For each question the share of orders
// in which a right sample is chosen counts; the mean over questions is the accuracy, and questions are drawn again for its interval
// (estimates.h). The gain is over one sample, question by question.
//
// Ways: "one sample", "majority", "weighted majority", "best of N" (runtime/scale/vote.h), and "any right": what a perfect choice would
// give. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/apps/lab/scale/judging/estimates.h"

namespace tessera {

// A value for each sample of a question. REQUIRES: as many of each, at least one.
struct JudgedQuestion {
  std::vector<int> answers = {};       // GroupAnswers.
  std::vector<bool> right = {};
  std::vector<double> scores = {};     // For best of N.
  std::vector<double> weights = {};    // For weighted votes.
};

struct JudgeOptions {
  std::vector<int> samples = {1};      // Numbers N, ascending. REQUIRES: each question has as many.
  int draws = 200;
  uint64_t seed = 0;
  int resamples = 1000;
};

struct MethodFigures {
  std::string method = {};
  int samples = 0;
  Estimate accuracy = {};
  Estimate gain = {};                            // Over one sample.
  std::optional<double> until_decided = {};      // How many samples a majority takes on average until it is decided.
};

std::vector<MethodFigures> JudgeSelections(absl::Span<const JudgedQuestion> questions, const JudgeOptions& options);

// Those of a way that is right in these shares, question by question, as one sample is in those of `one`.
MethodFigures FiguresOf(const std::string& method, int samples, absl::Span<const double> rights, absl::Span<const double> one,
                        const JudgeOptions& options);

// Orders of `count` things, as above. Depends on the seed and `stream` alone.
std::vector<std::vector<int>> OrdersOf(int count, int draws, uint64_t seed, uint64_t stream);

}  // namespace tessera
