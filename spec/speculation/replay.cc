#include "tessera/spec/speculation/replay.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/trees/verify.h"

namespace tessera {

Replayed& Replayed::operator+=(const Replayed& other) {
  tokens += other.tokens;
  passes += other.passes;
  rows += other.rows;
  return *this;
}

namespace {

// Returns the drafter's breach of the rules in the tree; empty: none. REQUIRES: the tree had the root alone before.
std::string BreachOf(const TokenTree& tree, TokenId root, const DraftBudget& budget, int vocabulary) {
  if (tree[TokenTree::kRoot].token != root) return absl::StrCat("found the root ", tree[TokenTree::kRoot].token, ", expected ", root);
  if (tree.size() - 1 > budget.max_nodes) return absl::StrCat("found ", tree.size() - 1, " nodes, expected at most ", budget.max_nodes);
  if (tree.Depth() > budget.max_depth) return absl::StrCat("found a node at depth ", tree.Depth(), ", expected at most ", budget.max_depth);
  for (const TokenTree::Node& node : tree.nodes().subspan(1)) {
    if (node.token < 0 || node.token >= vocabulary) {
      return absl::StrCat("found the token ", node.token, ", expected 0 to ", vocabulary - 1);
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<Replayed> Replay(Drafter& drafter, absl::Span<const TokenId> prompt, absl::Span<const TokenId> output,
                                const DraftBudget& budget, int vocabulary) {
  Replayed replayed;
  if (output.empty()) return replayed;
  std::vector<TokenId> text(prompt.begin(), prompt.end());
  text.push_back(output[0]);
  drafter.Begin(text);
  const auto no_logits = [](int /*node*/) -> absl::StatusOr<absl::Span<const float>> { return absl::Span<const float>(); };
  for (size_t next = 1; next < output.size();) {
    TokenTree tree(output[next - 1]);
    RETURN_IF_ERROR(drafter.Propose(budget, tree));
    if (const std::string breach = BreachOf(tree, output[next - 1], budget, vocabulary); !breach.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("drafter ", drafter.name(), ": pass ", replayed.passes, ": ", breach));
    }
    Verdict verdict;
    const auto recorded = [&](absl::Span<const float>) -> absl::StatusOr<Choice> {
      ++next;
      return Choice{output[next - 1], /*last=*/next == output.size()};
    };
    RETURN_IF_ERROR(Verify(tree, no_logits, recorded, verdict));
    drafter.Commit(tree, verdict);
    replayed += {.tokens = static_cast<int64_t>(verdict.emitted.size()), .passes = 1, .rows = tree.size()};
  }
  return replayed;
}

}  // namespace tessera
