#include "tessera/spec/drafters/draft_reuse.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

// Probabilities of a run's first token. kContinues: the sequence has just taken the token before the run. kInstead: another token may stand
// in for the token before the run. kMissing: the token before the run may still come. kFurther: each further token.
constexpr float kContinues = 0.4f, kInstead = 0.15f, kMissing = 0.15f, kFurther = 0.8f;

int LikeliestChild(const TokenTree& tree, int parent) {
  int best = TokenTree::kNone;
  for (int node = parent + 1; node < tree.size(); ++node) {
    if (tree[node].parent != parent) continue;
    if (best == TokenTree::kNone || tree[node].probability > tree[best].probability) best = node;
  }
  return best;
}

int MainLeaf(const TokenTree& tree) {
  int leaf = TokenTree::kRoot;
  for (int next = leaf; next != TokenTree::kNone; next = LikeliestChild(tree, leaf)) leaf = next;
  return leaf;
}

// Adds tokens as a path below nodes, as far as a budget goes.
class PathAdder {
 public:
  PathAdder(TokenTree& tree, int most_nodes, int most_depth) : tree_(tree), most_nodes_(most_nodes), most_depth_(most_depth) {}

  // Returns the last node; kNone if there was no room.
  int Add(int parent, absl::Span<const TokenId> tokens, float probability) {
    int node = TokenTree::kNone;
    for (const TokenId token : tokens) {
      if (tree_[parent].depth >= most_depth_ || (full() && tree_.Child(parent, token) == TokenTree::kNone)) break;
      parent = node = tree_.Add(parent, token, probability);
      probability = kFurther;
    }
    return node;
  }
  bool full() const { return tree_.size() >= most_nodes_; }

 private:
  TokenTree& tree_;
  const int most_nodes_, most_depth_;
};

// Returns, by node, whether the model agrees with the drafter: the node's token is the model's likeliest after the parent.
std::vector<bool> Agreed(const TokenTree& tree, const Verdict& verdict) {
  std::vector<bool> agreed(tree.size(), false);
  for (int node = 1; node < tree.size(); ++node) {
    const size_t parent = tree[node].parent;
    agreed[node] = parent < verdict.top.size() && !verdict.top[parent].empty() && verdict.top[parent].front().token == tree[node].token;
  }
  return agreed;
}

// Returns, by node, whether the node was accepted; the root always is.
std::vector<bool> Accepted(const TokenTree& tree, const Verdict& verdict) {
  std::vector<bool> accepted(tree.size(), false);
  accepted[TokenTree::kRoot] = true;
  for (const int node : verdict.path) accepted[node] = true;
  return accepted;
}

struct AgreedRun {
  int first = 0, last = 0, length = 0;  // Nodes of a path.
};

// Returns the longest run of agreed nodes between a leaf and the mismatch of the leaf's path; the first of equal ones. Walks up.
AgreedRun LongestAgreed(const TokenTree& tree, int leaf, const std::vector<bool>& agreed, const std::vector<bool>& accepted) {
  AgreedRun longest, current;
  for (int node = leaf; !accepted[node] && !accepted[tree[node].parent]; node = tree[node].parent) {
    if (!agreed[node]) {
      current = {};
      continue;
    }
    current = {node, current.length == 0 ? node : current.last, current.length + 1};
    if (current.length >= longest.length) longest = current;
  }
  return longest;
}

// Returns the leaves in the tree's order, which has the likeliest path first.
std::vector<int> LeavesOf(const TokenTree& tree) {
  std::vector<bool> is_leaf(tree.size(), true);
  for (int node = 1; node < tree.size(); ++node) is_leaf[tree[node].parent] = false;
  std::vector<int> leaves;
  for (int node = 1; node < tree.size(); ++node) {
    if (is_leaf[node]) leaves.push_back(node);
  }
  return leaves;
}

bool Contains(absl::Span<const TokenId> text, absl::Span<const TokenId> part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end()) != text.end();
}

}  // namespace

void DraftReuse::Begin(absl::Span<const TokenId> /*text*/) { runs_.clear(); }

absl::Status DraftReuse::Propose(const DraftBudget& budget, TokenTree& tree) {
  const int leaf = MainLeaf(tree);
  PathAdder adder(tree, std::min(tree.size() + budget.max_nodes, std::max(tree.size(), options_.most_tokens + 1)), budget.max_depth);
  const auto continued = [&](const Run& run, int node) {  // True: the sequence is in the middle of the run.
    const absl::Span<const TokenId> tokens = run.tokens;
    const bool at_first = tree[node].token == tokens.front();
    if (tree[node].token == run.before || at_first) adder.Add(node, tokens.subspan(at_first ? 1 : 0), kContinues);
    return tree[node].token == run.before || at_first;
  };
  for (const Run& run : runs_) {
    if (continued(run, TokenTree::kRoot)) continue;
    adder.Add(TokenTree::kRoot, run.tokens, kInstead);
    if (!run.after_mismatch) continue;
    const int before = adder.Add(TokenTree::kRoot, {run.before}, kMissing);
    if (before != TokenTree::kNone) adder.Add(before, run.tokens, kFurther);
  }
  if (leaf == TokenTree::kRoot) return absl::OkStatus();
  for (const Run& run : runs_) {
    if (!adder.full() && !continued(run, leaf)) adder.Add(leaf, run.tokens, kInstead);
  }
  return absl::OkStatus();
}

// Keeps the longest run of each rejected path. A run that is part of another run says nothing new.
void DraftReuse::Keep(const TokenTree& tree, const Verdict& verdict) {
  const std::vector<bool> agreed = Agreed(tree, verdict), accepted = Accepted(tree, verdict);
  std::deque<Run> kept;
  const auto known = [](const std::deque<Run>& runs, absl::Span<const TokenId> tokens) {
    return std::any_of(runs.begin(), runs.end(), [&](const Run& run) { return Contains(run.tokens, tokens); });
  };
  for (const int leaf : LeavesOf(tree)) {
    const AgreedRun longest = LongestAgreed(tree, leaf, agreed, accepted);
    if (longest.length < std::max(options_.shortest, 1)) continue;
    std::vector<TokenId> tokens = tree.PathTo(longest.last);
    tokens.erase(tokens.begin(), tokens.end() - longest.length);
    tokens.resize(std::min<size_t>(tokens.size(), options_.most_tokens));
    if (known(runs_, tokens) || known(kept, tokens) || static_cast<int>(kept.size()) == options_.most_tokens) continue;
    const TokenTree::Node& before = tree[tree[longest.first].parent];
    kept.push_back({before.token, accepted[before.parent], 0, std::move(tokens)});
  }
  runs_.insert(runs_.begin(), kept.begin(), kept.end());
}

// Finds a run by the first two tokens: one token alone may be any word.
void DraftReuse::DropTakenUp(TokenId root, absl::Span<const TokenId> emitted) {
  std::vector<TokenId> text(emitted.begin(), emitted.end());
  text.insert(text.begin(), root);
  std::erase_if(runs_, [&](const Run& run) {
    return Contains(text, absl::MakeConstSpan(run.tokens).first(std::min<size_t>(2, run.tokens.size())));
  });
}

void DraftReuse::DropOld() {
  size_t tokens = 0;
  std::erase_if(runs_, [&](const Run& run) {
    tokens += run.tokens.size();
    return run.steps > 0 && (run.steps >= options_.most_steps || tokens > static_cast<size_t>(options_.most_tokens));
  });
}

void DraftReuse::Commit(const TokenTree& tree, const Verdict& verdict) {
  for (Run& run : runs_) ++run.steps;
  DropTakenUp(tree[TokenTree::kRoot].token, verdict.emitted);
  Keep(tree, verdict);
  DropOld();
}

// Old and new runs are kept together for a step; lists may have twice the needed room.
int64_t DraftReuse::MostBytes(const Options& options) {
  return 4 * options.most_tokens * static_cast<int64_t>(sizeof(Run) + options.most_tokens * sizeof(TokenId));
}

int64_t DraftReuse::bytes() const {
  int64_t bytes = 0;
  for (const Run& run : runs_) bytes += static_cast<int64_t>(sizeof(Run) + run.tokens.capacity() * sizeof(TokenId));
  return bytes;
}

}  // namespace tessera
