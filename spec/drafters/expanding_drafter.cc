#include "tessera/spec/drafters/expanding_drafter.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"
#include "tessera/base/status_macros.h"

namespace tessera {

ExpandingDrafter::ExpandingDrafter(std::unique_ptr<Expander> expander, std::unique_ptr<TreePolicy> policy, const Options& options)
    : expander_(std::move(expander)), policy_(std::move(policy)), options_(options), reliability_(options.reliability) {
  CHECK(expander_ != nullptr && policy_ != nullptr);
}

void ExpandingDrafter::Begin(absl::Span<const TokenId> text) {
  pool_.reset();
  position_ = static_cast<int64_t>(text.size());
  stream_ = options_.stream + texts_++;   // Answers to one prompt are not to be drafted alike.
  broken_ = expander_->Begin(text);
}

absl::Status ExpandingDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  if (pool_.has_value() && broken_.ok()) broken_ = expander_->Commit(pool_->tree(), {});   // Nothing came of the last one.
  pool_.reset();
  RETURN_IF_ERROR(broken_);
  if (budget.max_nodes <= 0 || budget.max_depth <= 0) return absl::OkStatus();
  pool_.emplace(tree[TokenTree::kRoot].token, *expander_,
                DraftPool::Options{.candidates = Candidates(), .reliability = options_.corrects ? &reliability_ : nullptr,
                                   .sampling = options_.sampling, .draws = DrawKeyOf(1)});
  ASSIGN_OR_RETURN(const std::vector<int> nodes, policy_->Grow(budget, *pool_));
  CHECK_LE(static_cast<int>(nodes.size()), budget.max_nodes) << "policy " << policy_->name();
  std::vector<int> place(pool_->tree().nodes().size(), TokenTree::kNone);
  place[TokenTree::kRoot] = TokenTree::kRoot;
  for (const int node : nodes) {
    const TokenTree::Node& guess = pool_->tree()[node];
    CHECK_NE(place[guess.parent], TokenTree::kNone) << "policy " << policy_->name() << ": a node before its parent";
    place[node] = tree.Add(place[guess.parent], guess.token, guess.probability);
  }
  return absl::OkStatus();
}

// Learns from every expanded node that the sequence came to, verified or not.
void ExpandingDrafter::Learn(absl::Span<const TokenId> emitted) {
  const std::vector<DraftPool::Step> steps = pool_->Follow(emitted);
  for (const DraftPool::Step& step : steps) {
    for (const int child : pool_->children(step.node)) {
      table_.Add(pool_->tree()[child].probability, pool_->tree()[child].token == step.token);
    }
    reliability_.Learn(pool_->tree()[step.node].depth + 1, pool_->candidates(step.node), step.rank);
  }
  policy_->Learn(steps);
}

void ExpandingDrafter::Commit(const TokenTree& tree, const Verdict& verdict) {
  if (verdict.emitted.empty()) return;
  position_ += static_cast<int64_t>(verdict.emitted.size());
  if (pool_.has_value()) {
    account_.steps += pool_->passes() > 0 ? 1 : 0;
    account_.passes += pool_->passes();
    account_.rows += pool_->rows();
    account_.seconds += pool_->seconds();
    Learn(verdict.emitted);
  }
  if (broken_.ok()) {
    const TokenTree root(tree[TokenTree::kRoot].token);
    broken_ = expander_->Commit(pool_.has_value() ? pool_->tree() : root, verdict.emitted);
  }
  pool_.reset();
}

int ExpandingDrafter::NodeAt(absl::Span<const TokenId> path) const {
  if (!pool_.has_value()) return TokenTree::kNone;
  int node = TokenTree::kRoot;
  for (const TokenId token : path) {
    if (node != TokenTree::kNone) node = pool_->tree().Child(node, token);
  }
  return node == TokenTree::kNone || !pool_->expanded(node) ? TokenTree::kNone : node;
}

const DrawnChildren* ExpandingDrafter::Drawn(absl::Span<const TokenId> path) const {
  const int node = NodeAt(path);
  return node == TokenTree::kNone || !options_.sampling.has_value() ? nullptr : &pool_->drawn(node);
}

absl::Span<const TopToken> ExpandingDrafter::Candidates(absl::Span<const TokenId> path) const {
  const int node = NodeAt(path);
  return node == TokenTree::kNone ? absl::Span<const TopToken>() : absl::MakeConstSpan(pool_->candidates(node));
}

int64_t ExpandingDrafter::bytes() const {
  return static_cast<int64_t>(sizeof(*this)) + expander_->bytes() + (pool_.has_value() ? pool_->bytes() : 0);
}

}  // namespace tessera
