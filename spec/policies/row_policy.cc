#include "tessera/spec/policies/row_policy.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

namespace tessera {
namespace {

CostProfile::Shape Roots(int texts) { return {.rows = texts, .leaves = texts, .texts = texts}; }

// The nodes of all trees, one tree after another, each with the root first.
class Forest {
 public:
  explicit Forest(absl::Span<const TreeToCut> trees) {
    int size = 0;
    for (const TreeToCut& tree : trees) size += tree.tree->size();
    nodes_.reserve(static_cast<size_t>(size));
    for (const TreeToCut& tree : trees) Add(tree.tree->nodes());
  }

  struct Node {
    float reached;
    int parent;
    int tree;
    int depth = 0;              // Below the tree's root.
    int child = TokenTree::kNone, sibling = TokenTree::kNone;   // The last child, and the one before this node.
  };
  const Node& operator[](int node) const { return nodes_[static_cast<size_t>(node)]; }
  int root(int tree) const { return roots_[static_cast<size_t>(tree)]; }
  int size() const { return static_cast<int>(nodes_.size()); }

 private:
  void Add(absl::Span<const TokenTree::Node> tree) {
    const int root = size(), number = static_cast<int>(roots_.size());
    roots_.push_back(root);
    for (const TokenTree::Node& node : tree) {
      if (node.parent == TokenTree::kNone) {
        nodes_.push_back({1, TokenTree::kNone, number});
        continue;
      }
      Node& parent = nodes_[root + node.parent];
      nodes_.push_back({parent.reached * node.probability, root + node.parent, number, node.depth, TokenTree::kNone, parent.child});
      parent.child = size() - 1;
    }
  }

  std::vector<Node> nodes_;
  std::vector<int> roots_;
};

// Nodes that may be chosen next: the most probable first, and the first of equal ones.
class Frontier {
 public:
  // Adds a node. Probabilities are not negative, so their bits sort like the numbers.
  void Add(int node, float reached) {
    keys_.push_back(uint64_t{std::bit_cast<uint32_t>(reached)} << 32 | (kLast - static_cast<uint32_t>(node)));
    std::push_heap(keys_.begin(), keys_.end());
  }
  bool empty() const { return keys_.empty(); }
  uint64_t key() const { return keys_.front(); }   // The more, the earlier.
  int node() const { return static_cast<int>(kLast - static_cast<uint32_t>(key())); }
  void Remove() {
    std::pop_heap(keys_.begin(), keys_.end());
    keys_.pop_back();
  }
  void Clear() { keys_.clear(); }

 private:
  static constexpr uint32_t kLast = std::numeric_limits<uint32_t>::max();
  std::vector<uint64_t> keys_;
};

// Trees that grow node by node, with the tokens and seconds of all together.
class Growing {
 public:
  Growing(const Forest& forest, absl::Span<const TreeToCut> trees, const CostProfile& costs, const ShareLimits& limits)
      : forest_(forest), costs_(costs), limits_(limits), roots_head_(costs.HeadSeconds(static_cast<int>(trees.size()))),
        has_child_(forest.size()), shape_(Roots(static_cast<int>(trees.size()))), tokens_(static_cast<double>(trees.size())) {
    for (const TreeToCut& tree : trees) draft_seconds_ += tree.draft_seconds;
    nodes_.reserve(has_child_.size());
    AddRoots(trees, /*whole=*/true);
    while (shape_.rows < limits.most_rows && Next(/*time_counts=*/false)) Take();
    extensions_.Clear();
    leaves_.Clear();
    Weigh();
    least_rate_ = limits.least_gain * tokens_ / seconds_;
    KeepBest();
    AddRoots(trees, /*whole=*/false);
  }

  void Grow(bool time_counts) {
    while (shape_.rows < limits_.most_rows && Next(time_counts) && MayImprove()) {
      Take();
      Weigh();
      const double rate = tokens_ / seconds_;
      if (rate <= least_rate_) continue;
      least_rate_ = rate;
      KeepBest();
    }
  }

  // The best so far: nodes in the order of adding, tokens and seconds.
  absl::Span<const int> nodes() const { return absl::MakeConstSpan(nodes_).first(best_); }
  double tokens() const { return best_tokens_; }
  double seconds() const { return best_seconds_; }
  double head_seconds() const { return best_head_seconds_; }

 private:
  // Returns the lesser of two: all rows at once, or all roots at once and then round by round. A round has one row of each text that goes
  // on; a single text has a row at a time.
  double HeadSeconds() const {
    const double by_rounds = shape_.texts == 1 ? roots_head_ * tokens_ : roots_head_ + rounds_head_;
    return std::min(by_rounds, costs_.HeadSeconds(shape_.rows));
  }
  // Returns the seconds of a round that `texts` texts are expected to reach. Less than one text: the round happens with that probability.
  double RoundSeconds(double texts) const {
    if (texts <= 1) return texts * costs_.HeadSeconds(1);
    const int whole = static_cast<int>(texts);
    const double seconds = costs_.HeadSeconds(whole);
    return seconds + (texts - whole) * (costs_.HeadSeconds(whole + 1) - seconds);
  }

  void AddRoots(absl::Span<const TreeToCut> trees, bool whole) {
    for (size_t tree = 0; tree < trees.size(); ++tree) {
      if (trees[tree].whole != whole) continue;
      const int root = forest_.root(static_cast<int>(tree));
      AddChildren(root);
      for (int node = root + 1; node < root + trees[tree].tree->size(); ++node) left_ += whole ? 0 : forest_[node].reached;
    }
  }
  void AddChildren(int parent) {
    for (int child = forest_[parent].child; child != TokenTree::kNone; child = forest_[child].sibling) {
      extensions_.Add(child, forest_[child].reached);
    }
  }

  // Finds the best node whose parent is chosen: the most probability, or the most per added time if time counts. False if there is none.
  bool Next(bool time_counts) {
    while (!extensions_.empty() && has_child_[forest_[extensions_.node()].parent]) {  // A first child replaces the parent as a leaf.
      leaves_.Add(extensions_.node(), forest_[extensions_.node()].reached);
      extensions_.Remove();
    }
    if (extensions_.empty() && leaves_.empty()) return false;
    if (extensions_.empty() || leaves_.empty()) {
      extends_ = leaves_.empty();
      most_reached_ = forest_[(extends_ ? extensions_ : leaves_).node()].reached;
      return true;
    }
    const float extension = forest_[extensions_.node()].reached, leaf = forest_[leaves_.node()].reached;
    most_reached_ = std::max(extension, leaf);
    if (!time_counts) {
      extends_ = extensions_.key() > leaves_.key();
      return true;
    }
    const double extension_rate = extension / MoreSeconds(0), leaf_rate = leaf / MoreSeconds(1);
    extends_ = extension_rate > leaf_rate || (extension_rate == leaf_rate && extensions_.node() < leaves_.node());
    return true;
  }
  double MoreSeconds(int leaves) const {
    return std::max(costs_.PassSeconds({shape_.rows + 1, shape_.leaves + leaves, shape_.texts}) - pass_seconds_, 1e-12);
  }

  // Takes the node that Next found.
  void Take() {
    Frontier& from = extends_ ? extensions_ : leaves_;
    const int node = from.node();
    from.Remove();
    shape_.rows += 1;
    shape_.leaves += extends_ ? 0 : 1;
    has_child_[forest_[node].parent] = 1;
    nodes_.push_back(node);
    tokens_ += forest_[node].reached;
    left_ -= forest_[node].reached;
    if (shape_.texts > 1) Reach(forest_[node].depth, forest_[node].reached);
    AddChildren(node);
  }

  void Reach(int depth, float reached) {
    const size_t round = static_cast<size_t>(depth) - 1;
    if (round >= rounds_.size()) rounds_.resize(round + 1);
    rounds_head_ -= RoundSeconds(rounds_[round]);
    rounds_[round] += reached;
    rounds_head_ += RoundSeconds(rounds_[round]);
  }

  // Returns whether more nodes could beat the best choice if the nodes took no time. A node is reached no more often than its parent, and
  // all nodes together bring at most `left_` tokens.
  bool MayImprove() const {
    constexpr double kRounding = 1e-9;
    const double more = std::min(static_cast<double>((limits_.most_rows - shape_.rows) * most_reached_), left_ + kRounding);
    return tokens_ + more > least_rate_ * seconds_;
  }

  void Weigh() {
    pass_seconds_ = costs_.PassSeconds(shape_);
    seconds_ = std::max(draft_seconds_ + pass_seconds_ + HeadSeconds(), std::numeric_limits<double>::min());
  }

  void KeepBest() {
    best_ = nodes_.size();
    best_tokens_ = tokens_;
    best_seconds_ = seconds_;
    best_head_seconds_ = HeadSeconds();
  }

  const Forest& forest_;
  const CostProfile& costs_;
  const ShareLimits& limits_;
  const double roots_head_;                // The head over all roots.
  std::vector<char> has_child_;            // [node of the forest].
  Frontier extensions_, leaves_;           // First children, until a sibling is chosen; and all other children.
  bool extends_ = false;                   // The result of Next.
  float most_reached_ = 0;
  CostProfile::Shape shape_;
  std::vector<int> nodes_;
  double draft_seconds_ = 0, tokens_, pass_seconds_ = 0, seconds_ = 0, least_rate_ = 0;
  double left_ = 0;                        // Expected tokens of nodes that are not chosen.
  size_t best_ = 0;
  double best_tokens_ = 0, best_seconds_ = 0, best_head_seconds_ = 0;
  std::vector<double> rounds_;             // [depth - 1]: how many texts are expected to get there,
  double rounds_head_ = 0;                 // and the head's seconds for these rounds.
};

// Returns the choices, tree by tree.
std::vector<RowChoice> Choices(const Forest& forest, absl::Span<const TreeToCut> trees, const CostProfile& costs, const Growing& best) {
  std::vector<RowChoice> choices(trees.size());
  std::vector<char> has_child(forest.size());
  CostProfile::Shape all = Roots(static_cast<int>(trees.size()));
  for (const int node : best.nodes()) {
    RowChoice& choice = choices[forest[node].tree];
    choice.nodes.push_back(node - forest.root(forest[node].tree));
    choice.tokens += forest[node].reached;
    const bool extends = std::exchange(has_child[forest[node].parent], 1) == 0;
    choice.leaves += extends ? 0 : 1;
    all.leaves += extends ? 0 : 1;
    all.rows += 1;
  }
  const double pass = costs.PassSeconds(all), head = best.head_seconds();
  for (size_t i = 0; i < trees.size(); ++i) {
    RowChoice& choice = choices[i];
    const CostProfile::Shape own = choice.shape();
    choice.beside = {.rows = all.rows - own.rows, .leaves = all.leaves - own.leaves, .texts = all.texts - 1};
    const double seconds = trees[i].draft_seconds + pass * MarginalShare(all, own, costs) + head * (choice.tokens / best.tokens());
    choice.seconds = std::max(seconds, std::numeric_limits<double>::min());
  }
  return choices;
}

}  // namespace

CostProfile::Shape ShapeOf(const TokenTree& tree) { return {.rows = tree.size(), .leaves = tree.Leaves()}; }

std::vector<RowChoice> ShareRows(absl::Span<const TreeToCut> trees, const CostProfile& costs, const ShareLimits& limits) {
  const Forest forest(trees);
  Growing best(forest, trees, costs, limits);
  const bool leaves_cost = costs.PassSeconds({.rows = 1, .leaves = 2}) > costs.PassSeconds({});
  if (leaves_cost) {  // Either order is better on some trees. If leaves are free, both orders are the same.
    Growing by_time = best;
    best.Grow(/*time_counts=*/false);
    by_time.Grow(/*time_counts=*/true);
    if (by_time.tokens() * best.seconds() > best.tokens() * by_time.seconds()) return Choices(forest, trees, costs, by_time);
  } else {
    best.Grow(/*time_counts=*/false);
  }
  return Choices(forest, trees, costs, best);
}

RowChoice ChooseRows(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits) {
  const TreeToCut one = {.tree = &tree, .draft_seconds = limits.draft_seconds};
  return ShareRows({&one, 1}, costs, {.most_rows = limits.most_rows, .least_gain = limits.least_gain})[0];
}

double MarginalShare(const CostProfile::Shape& all, const CostProfile::Shape& part, const CostProfile& costs) {
  if (all.texts <= part.texts) return 1;
  const double pass = costs.PassSeconds(all), texts = static_cast<double>(part.texts) / all.texts;
  const int more_rows = all.rows - all.texts, more_leaves = all.leaves - all.texts;
  if (!(pass > 0)) return static_cast<double>(part.rows) / all.rows;
  const double roots = costs.PassSeconds(Roots(all.texts));
  const double rows = costs.PassSeconds({.rows = all.rows, .leaves = all.texts, .texts = all.texts});
  double seconds = roots * texts;
  if (more_rows > 0) seconds += (rows - roots) * (part.rows - part.texts) / more_rows;
  if (more_leaves > 0) seconds += (pass - rows) * (part.leaves - part.texts) / more_leaves;
  return seconds / pass;
}

// A pass over a chunk attends to all earlier tokens of the prompt, for one row as for a few.
constexpr int kLeastPiece = 4;

int PromptRows(const CostProfile::Shape& pass, const CostProfile& costs, const PromptLimits& limits) {
  const double head = costs.HeadSeconds(pass.texts);   // Is in the gap with and without.
  const double most_seconds = limits.most_gap * (costs.PassSecondsNow(pass) + head) - head;
  int fits = std::min(limits.most_rows, kLeastPiece), too_many = limits.most_rows + 1;
  while (too_many - fits > 1) {
    const int rows = fits + (too_many - fits) / 2;
    (costs.PromptPassSeconds(pass, rows) <= most_seconds ? fits : too_many) = rows;
  }
  return std::max(fits, 0);
}

double FirstHeadSeconds(int rows, const CostProfile& costs, int others) {
  return costs.HeadSeconds(others + rows) - costs.HeadSeconds(others);
}

HeadChoice ChooseHeadRows(const TokenTree& tree, const CostProfile& costs, int most_rows, const CostProfile::Shape& beside) {
  const std::vector<float> reached = tree.PathProbabilities();
  // A later row is computed together with later rows of other texts with drafts.
  const int others = beside.texts, together = 1 + std::min(beside.texts, beside.rows - beside.texts);
  const double one = costs.HeadSeconds(together) / together;
  double later = 0;
  for (const float probability : reached) later += probability * one;
  HeadChoice best = {.first_rows = 1, .seconds = std::numeric_limits<double>::infinity()};
  for (int first = 1; first <= std::min(most_rows, tree.size()); ++first) {
    later -= reached[first - 1] * one;
    const double seconds = FirstHeadSeconds(first, costs, others) + later;
    if (seconds < best.seconds) best = {first, seconds};
  }
  return best;
}

}  // namespace tessera
