#include "tessera/spec/speculator.h"

#include <algorithm>

#include "glog/logging.h"

namespace tessera {

void Speculator::Begin(absl::Span<const TokenId> text) {
  CHECK(!text.empty()) << "a text has a last token";
  root_ = text.back();
  drafter_->Begin(text);
}

TokenTree Speculator::Propose(const TreeRoom& room) {
  TokenTree tree(root_);
  const DraftBudget budget = {.max_nodes = std::min(room.rows, options_.max_rows) - 1, .max_depth = room.depth};
  if (budget.max_nodes <= 0 || budget.max_depth <= 0) return tree;
  const absl::Status status = drafter_->Propose(budget, tree);
  if (!status.ok()) {
    LOG_FIRST_N(WARNING, 1) << drafter_->name() << ": " << status;
    return TokenTree(root_);
  }
  std::vector<int> all;
  for (int node = 1; node < tree.size(); ++node) all.push_back(node);
  return tree.Pick(all);
}

void Speculator::Commit(const TokenTree& tree, const Verdict& verdict, const StepTime& time) {
  if (verdict.emitted.empty()) return;
  drafter_->Commit(tree, verdict);
  root_ = verdict.emitted.back();
}

}  // namespace tessera
