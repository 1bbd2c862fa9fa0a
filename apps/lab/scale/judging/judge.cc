#include "tessera/apps/lab/scale/judging/judge.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/functional/function_ref.h"
#include "tessera/base/random.h"
#include "tessera/runtime/scale/vote.h"

namespace tessera {
namespace {

constexpr int kMostWhole = 8;   // 8 samples have 40,320 orders.

// Answers, scores and weights of an order's first samples.
struct Taken {
  std::vector<int> answers = {};
  std::vector<double> scores = {}, weights = {};

  Taken(const JudgedQuestion& question, absl::Span<const int> order) {
    for (const int i : order) {
      answers.push_back(question.answers[static_cast<size_t>(i)]);
      scores.push_back(question.scores[static_cast<size_t>(i)]);
      weights.push_back(question.weights[static_cast<size_t>(i)]);
    }
  }
};

int SamplesUntilDecided(const std::vector<int>& answers) {
  VoteCount count(static_cast<int>(answers.size()));
  for (size_t i = 0; i < answers.size(); ++i) {
    count.Add(static_cast<int>(i), answers[i]);
    if (count.IsDecided()) return static_cast<int>(i) + 1;
  }
  return static_cast<int>(answers.size());
}

class Judgement {
 public:
  Judgement(absl::Span<const JudgedQuestion> questions, const JudgeOptions& options) : questions_(questions), options_(options) {
    for (size_t q = 0; q < questions.size(); ++q) {
      const int count = static_cast<int>(questions[q].right.size());
      orders_.push_back(OrdersOf(count, options.draws, options.seed, q));
      one_.push_back(static_cast<double>(std::count(questions[q].right.begin(), questions[q].right.end(), true)) / count);
    }
  }

  MethodFigures OfOne() const { return FiguresOf("one sample", 1, one_, one_, options_); }

  MethodFigures OfAny(int samples) const {
    std::vector<double> values;
    for (const JudgedQuestion& question : questions_) {
      const auto right = std::count(question.right.begin(), question.right.end(), true);
      values.push_back(AnyRight(static_cast<int>(question.right.size()), static_cast<int>(right), samples));
    }
    return FiguresOf("any right", samples, values, one_, options_);
  }

  MethodFigures Of(Selection selection, int samples) const {
    const std::vector<double> values = MeanOverOrders(samples, [&](const JudgedQuestion& question, absl::Span<const int> order) {
      const Taken taken(question, order);
      const int chosen = Select(selection, taken.answers, selection == Selection::kBestOfN ? taken.scores : taken.weights);
      return question.right[static_cast<size_t>(order[static_cast<size_t>(chosen)])] ? 1.0 : 0.0;
    });
    MethodFigures figures = FiguresOf(std::string(SelectionName(selection)), samples, values, one_, options_);
    if (selection != Selection::kMajority) return figures;
    const std::vector<double> until = MeanOverOrders(samples, [](const JudgedQuestion& question, absl::Span<const int> order) {
      return static_cast<double>(SamplesUntilDecided(Taken(question, order).answers));
    });
    figures.until_decided = std::accumulate(until.begin(), until.end(), 0.0) / static_cast<double>(until.size());
    return figures;
  }

 private:
  // Returns for each question the mean over the question's orders. In each order the first `samples` samples count.
  std::vector<double> MeanOverOrders(int samples,
                                     absl::FunctionRef<double(const JudgedQuestion& question, absl::Span<const int> order)> value) const {
    std::vector<double> values;
    for (size_t q = 0; q < questions_.size(); ++q) {
      double sum = 0;
      for (const std::vector<int>& order : orders_[q]) {
        sum += value(questions_[q], absl::MakeConstSpan(order).first(static_cast<size_t>(samples)));
      }
      values.push_back(sum / static_cast<double>(orders_[q].size()));
    }
    return values;
  }

  const absl::Span<const JudgedQuestion> questions_;
  const JudgeOptions& options_;
  std::vector<std::vector<std::vector<int>>> orders_;   // By question.
  std::vector<double> one_;                             // By question: the share of right samples.
};

}  // namespace

MethodFigures FiguresOf(const std::string& method, int samples, absl::Span<const double> rights, absl::Span<const double> one,
                        const JudgeOptions& options) {
  const BootstrapOptions bootstrap = {.resamples = options.resamples, .seed = options.seed};
  std::vector<double> gains(rights.size());
  std::transform(rights.begin(), rights.end(), one.begin(), gains.begin(), [](double right, double single) { return right - single; });
  return {.method = method, .samples = samples, .accuracy = Bootstrap(rights, bootstrap), .gain = Bootstrap(gains, bootstrap)};
}

std::vector<std::vector<int>> OrdersOf(int count, int draws, uint64_t seed, uint64_t stream) {
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders;
  int64_t all = 1;
  for (int i = 2; i <= std::min(count, kMostWhole + 1); ++i) all *= i;
  if (count <= kMostWhole && all <= draws) {
    do {
      orders.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    return orders;
  }
  SeededRandom random(CounterRandom(seed, stream, 0));
  for (int i = 0; i < draws; ++i) {
    for (size_t last = order.size() - 1; last > 0; --last) {   // Fisher and Yates.
      std::swap(order[last], order[static_cast<size_t>(random.Below(static_cast<int64_t>(last) + 1))]);
    }
    orders.push_back(order);
  }
  return orders;
}

std::vector<MethodFigures> JudgeSelections(absl::Span<const JudgedQuestion> questions, const JudgeOptions& options) {
  const Judgement judgement(questions, options);
  std::vector<MethodFigures> figures = {judgement.OfOne()};
  for (const int samples : options.samples) {
    if (samples == 1) continue;   // All methods choose the one sample.
    for (const Selection selection : {Selection::kMajority, Selection::kWeighted, Selection::kBestOfN}) {
      figures.push_back(judgement.Of(selection, samples));
    }
    figures.push_back(judgement.OfAny(samples));
  }
  return figures;
}

}  // namespace tessera
