// Estimates from recorded samples how often each method of choosing among N samples chooses a right sample.
//
//   const std::vector<MethodFigures> figures = JudgeSelections(questions, {.samples = {1, 2, 4}, .seed = 7});
//   figures[0].method, figures[0].samples, figures[0].accuracy.mean;            // "one sample", 1, 0.43
//
// Each question has many recorded samples. The judge takes N of them in many orders: in all possible orders if there are at most `draws`,
// else in `draws` seeded random orders. So neither the first sample nor ties nor early stops depend on one order. A question's value is the
// share of orders in which a right sample is chosen. The accuracy is the mean over questions; its interval comes from resampled questions
// (estimates.h). The gain is the difference to one sample, question by question.
//
// Methods: "one sample", "majority", "weighted majority", "best of N" (runtime/scale/vote.h), and "any right", the result of a perfect
// choice. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/apps/lab/scale/judging/estimates.h"

namespace tessera {

// The samples of a question; each field has one value per sample. REQUIRES: the fields have equal sizes, at least one.
struct JudgedQuestion {
  std::vector<int> answers = {};       // GroupAnswers.
  std::vector<bool> right = {};
  std::vector<double> scores = {};     // For best of N.
  std::vector<double> weights = {};    // For weighted votes.
};

struct JudgeOptions {
  std::vector<int> samples = {1};      // Numbers N, ascending. REQUIRES: each question has at least N samples.
  int draws = 200;
  uint64_t seed = 0;
  int resamples = 1000;
};

struct MethodFigures {
  std::string method = {};
  int samples = 0;
  Estimate accuracy = {};
  Estimate gain = {};                            // Over one sample.
  std::optional<double> until_decided = {};      // The mean number of samples until a majority is decided.
};

std::vector<MethodFigures> JudgeSelections(absl::Span<const JudgedQuestion> questions, const JudgeOptions& options);

// Returns the figures of a method. rights: by question, the share of orders with a right choice. one: the same for one sample.
MethodFigures FiguresOf(const std::string& method, int samples, absl::Span<const double> rights, absl::Span<const double> one,
                        const JudgeOptions& options);

// Returns orders of `count` samples: all orders, or `draws` random orders, as above. Depends on the seed and `stream` alone.
std::vector<std::vector<int>> OrdersOf(int count, int draws, uint64_t seed, uint64_t stream);

}  // namespace tessera
