#include "tessera/spec/policies/gain_cost_tree.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr double kNewShareWeight = 0.1;
constexpr double kLeastReached = 1e-6;

// A row that may be verified: a node of the pool, or a row that expanding a node may bring.
struct Row {
  double reached;
  int parent;                           // Among the rows; kNone for the root.
  int depth;
  int expand = TokenTree::kNone;        // The node of the pool to expand for this row; kNone: the row is there.
};

struct Terms {
  const TreeCosts& costs;
  double drafted = 0;                   // Seconds spent already,
  double draft_row = 0;                 // and seconds for each missing row.
  int most_nodes = 0;
  bool blocks = true;
};

struct Plan {
  std::vector<int> rows = {};           // Below the root, parents first.
  double tokens = 1, seconds = 0;
  bool IsBetterThan(const Plan& other) const { return tokens * other.seconds > other.tokens * seconds; }
};

// A tree that grows row by row.
class Growth {
 public:
  Growth(const std::vector<Row>& rows, const Terms& terms)
      : rows_(rows), terms_(terms), profile_(*terms.costs.profile), children_(rows.size()), drafted_(terms.drafted) {
    for (size_t row = 1; row < rows.size(); ++row) children_[static_cast<size_t>(rows[row].parent)].push_back(static_cast<int>(row));
    has_child_.resize(rows.size());
    open_ = children_[0];
    Weigh();
  }

  // Returns the best of the trees on the way. time_counts: rows are taken by probability per second, else by probability.
  Plan Grow(bool time_counts) {
    Plan best = now_;
    while (static_cast<int>(now_.rows.size()) < terms_.most_nodes && !open_.empty()) {
      Take(Best(time_counts));
      Weigh();
      if (now_.IsBetterThan(best)) best = now_;
      else if (!terms_.blocks) break;
    }
    return best;
  }

 private:
  const Row& row(int number) const { return rows_[static_cast<size_t>(number)]; }
  bool Extends(int number) const { return !has_child_[static_cast<size_t>(row(number).parent)]; }

  // Returns the index in open_ of the row to add next.
  size_t Best(bool time_counts) const {
    constexpr double kLeastSeconds = 1e-12;
    const auto more = [&](int leaves) { return profile_.PassSeconds({shape_.rows + 1, shape_.leaves + leaves}) - pass_; };
    const double extension = std::max(more(0), kLeastSeconds), leaf = std::max(more(1), kLeastSeconds);
    size_t best = 0;
    double best_rate = -1;
    for (size_t i = 0; i < open_.size(); ++i) {
      const Row& candidate = row(open_[i]);
      const double draft = candidate.expand == TokenTree::kNone ? 0 : terms_.draft_row;
      const double rate = time_counts ? candidate.reached / ((Extends(open_[i]) ? extension : leaf) + draft) : candidate.reached;
      if (rate < best_rate || (rate == best_rate && open_[i] > open_[best])) continue;
      best = i;
      best_rate = rate;
    }
    return best;
  }

  void Take(size_t place) {
    const int number = open_[place];
    open_[place] = open_.back();
    open_.pop_back();
    const Row& taken = row(number);
    shape_.rows += 1;
    shape_.leaves += Extends(number) ? 0 : 1;
    has_child_[static_cast<size_t>(taken.parent)] = true;
    drafted_ += taken.expand == TokenTree::kNone ? 0 : terms_.draft_row;
    now_.rows.push_back(number);
    now_.tokens += taken.reached;
    const std::vector<int>& below = children_[static_cast<size_t>(number)];
    open_.insert(open_.end(), below.begin(), below.end());
  }

  void Weigh() {
    pass_ = profile_.PassSeconds(shape_);
    const double head = std::min(profile_.HeadSeconds(1) * now_.tokens, profile_.HeadSeconds(shape_.rows));
    now_.seconds = std::max(drafted_ + terms_.costs.io_seconds + pass_ + head, std::numeric_limits<double>::min());
  }

  const std::vector<Row>& rows_;
  const Terms& terms_;
  const CostProfile& profile_;
  std::vector<std::vector<int>> children_;   // [row].
  std::vector<bool> has_child_;              // In the tree.
  std::vector<int> open_;                    // Rows whose parents are there.
  CostProfile::Shape shape_;
  double drafted_, pass_ = 0;
  Plan now_;
};

Plan BestPlan(const std::vector<Row>& rows, const Terms& terms) {
  Plan best = Growth(rows, terms).Grow(/*time_counts=*/true);
  const Plan by_probability = Growth(rows, terms).Grow(/*time_counts=*/false);   // Either order is better on some trees.
  return by_probability.IsBetterThan(best) ? by_probability : best;
}

// Returns the least probability among the `most_nodes` likeliest rows; 0 if there are fewer rows.
double LeastOfMost(const std::vector<Row>& rows, int most_nodes) {
  if (static_cast<int>(rows.size()) <= most_nodes) return 0;
  std::vector<double> reached;
  for (const Row& row : rows) reached.push_back(row.reached);
  std::nth_element(reached.begin(), reached.begin() + most_nodes, reached.end(), std::greater<>());   // The root is the first.
  return reached[static_cast<size_t>(most_nodes)];
}

// Returns the pool's nodes, by number, and then the rows that expanding may bring. Below each unexpanded node stands a chain, since no
// other tree of as many nodes has more probability or fewer leaves.
std::vector<Row> RowsOf(const DraftPool& pool, const DraftBudget& budget, double share) {
  std::vector<Row> rows;
  const TokenTree& tree = pool.tree();
  for (int node = 0; node < tree.size(); ++node) rows.push_back({pool.reached(node), tree[node].parent, tree[node].depth});
  const double least = std::max(LeastOfMost(rows, budget.max_nodes), kLeastReached);
  for (int node = 0; node < tree.size(); ++node) {
    if (pool.expanded(node)) continue;
    Row last = {pool.reached(node), node, tree[node].depth, node};
    for (int length = 0; length < budget.max_nodes && last.depth < budget.max_depth; ++length) {
      last.depth += 1;
      last.reached *= std::min(share * pool.rho(last.depth), 1.0);
      if (last.reached < least) break;
      rows.push_back(last);
      last.parent = static_cast<int>(rows.size()) - 1;
    }
  }
  return rows;
}

// Returns the nodes to expand for the plan, by falling probability.
std::vector<int> WaitingOf(const Plan& plan, const std::vector<Row>& rows, const DraftPool& pool) {
  std::vector<int> waiting;
  for (const int row : plan.rows) {
    const int node = rows[static_cast<size_t>(row)].expand;
    if (node != TokenTree::kNone && std::find(waiting.begin(), waiting.end(), node) == waiting.end()) waiting.push_back(node);
  }
  std::stable_sort(waiting.begin(), waiting.end(), [&](int a, int b) { return pool.reached(a) > pool.reached(b); });
  return waiting;
}

}  // namespace

absl::Status GainCostTree::Expand(const std::vector<int>& waiting, DraftPool& pool) {
  width_ = pool.BatchOf(waiting);
  const auto batch = absl::MakeConstSpan(waiting).first(static_cast<size_t>(width_));
  RETURN_IF_ERROR(pool.Expand(batch));
  for (const int node : batch) {
    double sum = 0;
    const std::vector<int>& children = pool.children(node);
    for (size_t i = 0; i < std::min<size_t>(children.size(), 2); ++i) sum += pool.tree()[children[i]].probability;
    share_ += kNewShareWeight * (std::min(sum, 1.0) / pool.rho(pool.tree()[node].depth + 1) - share_);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> GainCostTree::Grow(const DraftBudget& given, DraftPool& pool) {
  const DraftBudget budget = {.max_nodes = std::min(given.max_nodes, CostProfile::kMostRows - 1), .max_depth = given.max_depth};
  expected_ = {};
  if (budget.max_nodes <= 0 || budget.max_depth <= 0 || !options_.costs.known()) return std::vector<int>();
  if (idle_ >= kTrial) RETURN_IF_ERROR(Expand({TokenTree::kRoot}, pool));
  while (true) {
    const std::vector<Row> rows = RowsOf(pool, budget, options_.optimistic ? 1 : share_);
    const Terms terms = {.costs = options_.costs, .drafted = pool.seconds(), .draft_row = pool.SecondsOf(width_) / width_,
                         .most_nodes = budget.max_nodes, .blocks = options_.blocks};
    const Plan plan = BestPlan(rows, terms);
    const std::vector<int> waiting = WaitingOf(plan, rows, pool);
    if (!waiting.empty()) {
      RETURN_IF_ERROR(Expand(waiting, pool));
      continue;
    }
    expected_ = {plan.tokens, plan.seconds};
    idle_ = pool.passes() == 0 ? idle_ + 1 : 0;
    return plan.rows;   // Rows of the pool's nodes have their numbers.
  }
}

}  // namespace tessera
