#include "tessera/spec/policies/forecast_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {
namespace {

// A node, and the probability that the sequence stops there.
struct Stop {
  double probability;
  int node;
};

// The root and the first nodes of a choice.
struct Kept {
  double tokens = 1;
  int leaves = 1;
  std::vector<Stop> stops = {};   // The most probable first, of nodes that may get forecasts.
};

class ForecastPlanner {
 public:
  ForecastPlanner(const TokenTree& draft, const CostProfile& costs, const ForecastLimits& limits, const RowChoice& choice)
      : draft_(draft), costs_(costs), limits_(limits), choice_(choice), reached_(draft.PathProbabilities()) {
    if (limits.weigh_costs && costs.KnowsSteps()) lambda_ = choice.tokens / choice.seconds;
    gain_ = limits.tokens - lambda_ * costs.HeadSeconds(limits.rows_each);
  }

  // Sets nodes, tokens, leaves and forecasts to the best.
  void PlanInto(RowChoice& choice) {
    const int all = static_cast<int>(choice_.nodes.size());
    for (int nodes = all; nodes >= 0; --nodes) Try(nodes, Keep(nodes));
    if (best_forecasts_.empty()) return;
    choice.nodes.resize(static_cast<size_t>(best_nodes_));
    choice.tokens = best_tokens_;
    choice.leaves = best_leaves_;
    choice.forecasts = std::move(best_forecasts_);
    choice.forecast_rows = limits_.rows_each;
    std::sort(choice.forecasts.begin(), choice.forecasts.end());
  }

 private:
  Kept Keep(int nodes) const {
    Kept kept;
    std::vector<double> stops(static_cast<size_t>(draft_.size()), 0);
    std::vector<char> has_child(stops.size());
    stops[TokenTree::kRoot] = 1;
    for (int i = 0; i < nodes; ++i) {
      const auto node = static_cast<size_t>(choice_.nodes[static_cast<size_t>(i)]);
      const auto parent = static_cast<size_t>(draft_[static_cast<int>(node)].parent);
      stops[node] += double{reached_[node]};
      stops[parent] -= double{reached_[node]};
      kept.tokens += double{reached_[node]};
      kept.leaves += std::exchange(has_child[parent], 1);
    }
    const auto add = [&](int node) {
      if (draft_[node].depth <= limits_.most_depth) kept.stops.push_back({std::max(stops[static_cast<size_t>(node)], 0.0), node});
    };
    add(TokenTree::kRoot);
    for (int i = 0; i < nodes; ++i) add(choice_.nodes[static_cast<size_t>(i)]);
    std::stable_sort(kept.stops.begin(), kept.stops.end(), [](const Stop& a, const Stop& b) { return a.probability > b.probability; });
    return kept;
  }

  void Try(int nodes, const Kept& kept) {
    const CostProfile::Shape& beside = choice_.beside;
    double stops = 0;
    for (size_t count = 0; count <= kept.stops.size(); ++count) {
      const int rows = 1 + nodes + static_cast<int>(count) * limits_.rows_each;
      if (rows > limits_.most_rows) return;
      if (count > 0) stops += kept.stops[count - 1].probability;
      const CostProfile::Shape shape = {.rows = beside.rows + rows, .leaves = beside.leaves + kept.leaves, .texts = beside.texts + 1};
      const double value = kept.tokens + gain_ * stops - lambda_ * (lambda_ > 0 ? costs_.PassSeconds(shape) : 0);
      if (best_nodes_ >= 0 && value <= best_value_ + kRounding) continue;
      best_value_ = value, best_nodes_ = nodes, best_tokens_ = kept.tokens, best_leaves_ = kept.leaves;
      best_forecasts_.clear();
      for (size_t i = 0; i < count; ++i) best_forecasts_.push_back(kept.stops[i].node);
    }
  }

  static constexpr double kRounding = 1e-9;
  const TokenTree& draft_;
  const CostProfile& costs_;
  const ForecastLimits& limits_;
  const RowChoice& choice_;
  const std::vector<float> reached_;
  double lambda_ = 0, gain_ = 0;
  int best_nodes_ = -1, best_leaves_ = 1;   // No node: nothing was tried.
  double best_value_ = 0, best_tokens_ = 1;
  std::vector<int> best_forecasts_;
};

}  // namespace

void AddForecasts(const TokenTree& draft, const CostProfile& costs, const ForecastLimits& limits, RowChoice& choice) {
  ForecastPlanner(draft, costs, limits, choice).PlanInto(choice);
}

}  // namespace tessera
