#include "tessera/spec/row_policy.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

// A tree that grows node by node, with what it gives and takes.
class Growing {
 public:
  Growing(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits)
      : tree_(tree), costs_(costs), limits_(limits), reached_(tree.PathProbabilities()), in_(tree.size()), has_child_(tree.size()) {
    in_[TokenTree::kRoot] = true;
    best_.seconds = SecondsOf(shape_, 1);
    least_rate_ = limits.least_gain / best_.seconds;
  }

  // The node with the most probability, for the time it adds if that counts, of those whose parents are there; kNone if there is none.
  int Next(bool time_counts) {
    const double now = costs_.PassSeconds(shape_);
    const auto more = [&](int leaves) { return std::max(costs_.PassSeconds({shape_.rows + 1, shape_.leaves + leaves}) - now, 1e-12); };
    const double as_leaf = more(1), as_extension = more(0);
    int best = TokenTree::kNone;
    double best_rate = 0;
    most_reached_ = 0;
    for (int node = 1; node < tree_.size(); ++node) {
      if (in_[node] || !in_[tree_[node].parent]) continue;
      most_reached_ = std::max(most_reached_, reached_[node]);
      const double rate = reached_[node] / (!time_counts ? 1 : Extends(node) ? as_extension : as_leaf);
      if (best == TokenTree::kNone || rate > best_rate) {
        best = node;
        best_rate = rate;
      }
    }
    return best;
  }

  void Add(int node) {
    shape_ = {.rows = shape_.rows + 1, .leaves = shape_.leaves + (Extends(node) ? 0 : 1)};
    in_[node] = has_child_[tree_[node].parent] = true;
    nodes_.push_back(node);
    tokens_ += reached_[node];
    const double seconds = SecondsOf(shape_, tokens_), rate = tokens_ / seconds;
    if (rate <= least_rate_) return;
    least_rate_ = rate;
    best_ = {nodes_, tokens_, seconds};
  }
  // Whether so many nodes more could be better than the best, if they took no time: a node is reached no more often than its parent.
  bool MayImprove(int nodes) const { return tokens_ + nodes * most_reached_ > least_rate_ * SecondsOf(shape_, tokens_); }
  const RowChoice& best() const { return best_; }

 private:
  // A first child takes its parent's place as a leaf.
  bool Extends(int node) const { return !has_child_[tree_[node].parent]; }
  double SecondsOf(const CostProfile::Shape& shape, double tokens) const {
    const double head = std::min(costs_.HeadSeconds(1) * tokens, costs_.HeadSeconds(shape.rows));  // One by one, or all at once.
    const double seconds = limits_.draft_seconds + costs_.PassSeconds(shape) + head;
    return std::max(seconds, std::numeric_limits<double>::min());
  }

  const TokenTree& tree_;
  const CostProfile& costs_;
  const RowLimits& limits_;
  const std::vector<float> reached_;
  std::vector<bool> in_, has_child_;
  CostProfile::Shape shape_;
  std::vector<int> nodes_;
  double tokens_ = 1, least_rate_ = 0;
  float most_reached_ = 0;   // Among the nodes that Next chose from.
  RowChoice best_;
};

}  // namespace

RowChoice ChooseRows(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits) {
  RowChoice best;
  for (const bool time_counts : {false, true}) {  // Either is better on some trees where leaves cost; else they are the same.
    Growing growing(tree, costs, limits);
    int node = growing.Next(time_counts);
    for (int rows = 1; rows < limits.most_rows && node != TokenTree::kNone && growing.MayImprove(limits.most_rows - rows); ++rows) {
      growing.Add(node);
      node = growing.Next(time_counts);
    }
    const RowChoice& found = growing.best();
    if (best.seconds == 0 || found.tokens * best.seconds > best.tokens * found.seconds) best = found;
  }
  return best;
}

HeadChoice ChooseHeadRows(const TokenTree& tree, const CostProfile& costs, int most_rows) {
  const std::vector<float> reached = tree.PathProbabilities();
  const double one = costs.HeadSeconds(1);
  double later = 0;
  for (const float probability : reached) later += probability * one;
  HeadChoice best = {.first_rows = 1, .seconds = std::numeric_limits<double>::infinity()};
  for (int first = 1; first <= std::min(most_rows, tree.size()); ++first) {
    later -= reached[first - 1] * one;
    const double seconds = costs.HeadSeconds(first) + later;
    if (seconds < best.seconds) best = {first, seconds};
  }
  return best;
}

}  // namespace tessera
