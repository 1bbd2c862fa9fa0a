// The part of a draft that the model agrees with, and the token it says instead of the rest.
//
//   Verdict verdict;
//   RETURN_IF_ERROR(Verify(tree, logits_of_node, chooser, verdict));
//   verdict.path;       // nodes from the root on that are text now, and computed
//   verdict.emitted;    // tokens: those of the path below the root, then the one that no child had
//
// Or step by step, where logits of many trees are computed together:
//
//   Verification verification(tree);
//   while (verification.node() != TokenTree::kNone) verification.Next(ChooseFrom(logits_of(verification.node())));
//   verdict = verification.Take();
//
// One rule for greedy and sampled text ("sampler-match"): at each node the next token is chosen from the model's logits as
// without a draft, and if a child has it, that child is next. So the text cannot depend on the draft. Logits are asked for node by
// node, only where the text gets to: what is not asked for need not be computed. Pure; threads: as what it calls.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/spec/trees/token_tree.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

struct Verdict {
  std::vector<int> path = {};            // Starts with the root.
  std::vector<TokenId> emitted = {};     // At least one, unless there was an error.
  std::vector<TopTokens> top = {};       // [node]: what the model says after it; empty where no logits were computed. Verify leaves it.
  // Where the last node of the path has forecasts (DrafterNeeds::forecast_rows): [k] is what may come k + 1 tokens after the last emitted
  // one. Empty: it has none. Verify leaves it.
  std::vector<TopTokens> ahead = {};
};

struct Choice {
  TokenId token = 0;
  bool last = false;                // The text ends with this token, whatever children have it.
};

// [vocabulary], valid until the next call.
using LogitsOfNode = absl::FunctionRef<absl::StatusOr<absl::Span<const float>>(int node)>;
// Chooses the next token of the text. Called once per token, in the order of the text.
using Chooser = absl::FunctionRef<absl::StatusOr<Choice>(absl::Span<const float> logits)>;

class Verification {
 public:
  // It has no tree, so all is settled.
  Verification() = default;
  // The tree must outlive it.
  explicit Verification(const TokenTree& tree) : tree_(&tree), node_(TokenTree::kRoot), verdict_{.path = {TokenTree::kRoot}} {}

  // The node whose logits the next token is chosen from, the last of the path; kNone once all is settled.
  int node() const { return node_; }
  // From now on these count as if they had not been drafted: a pass has left them out half-way (prune_rule.h). gone: by node, must outlive
  // this. REQUIRES: neither the root nor what was settled so far is gone.
  void Prune(const std::vector<bool>& gone) { gone_ = &gone; }
  // What was chosen from them. REQUIRES: node() is not kNone.
  void Next(const Choice& choice);
  // What is settled so far. Afterwards this is of no tree.
  Verdict Take();

 private:
  const TokenTree* tree_ = nullptr;
  const std::vector<bool>* gone_ = nullptr;
  int node_ = TokenTree::kNone;
  Verdict verdict_;
};

// The first error of either ends it; the verdict has what was settled before.
absl::Status Verify(const TokenTree& tree, LogitsOfNode logits_of_node, Chooser chooser, Verdict& verdict);

}  // namespace tessera
