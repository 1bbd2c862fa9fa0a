// Finds the part of a draft that the model agrees with, and the model's own token after that part.
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
// One rule holds for greedy and sampled sequences ("sampler-match"). At each node the next token is chosen from the model's logits as
// without a draft. If a child has that token, the child is next. So the sequence cannot depend on the draft. Logits are asked for node by
// node, only for nodes that the sequence comes to; other logits need not be computed. Pure; threads: as the functions that are called.
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
  std::vector<TopTokens> top = {};       // [node]: the model's likeliest tokens after the node; empty without logits. Not filled by Verify.
  // Likely tokens ahead, if the last node of the path has forecasts (DrafterNeeds::forecast_rows). [k]: the tokens that may come k + 1
  // tokens after the last emitted one. Empty without forecasts. Not filled by Verify.
  std::vector<TopTokens> ahead = {};
};

struct Choice {
  TokenId token = 0;
  bool last = false;                // The sequence ends with this token, even if a child has it.
};

// [vocabulary], valid until the next call.
using LogitsOfNode = absl::FunctionRef<absl::StatusOr<absl::Span<const float>>(int node)>;
// Chooses the next token. Called once per token, in the order of the sequence.
using Chooser = absl::FunctionRef<absl::StatusOr<Choice>(absl::Span<const float> logits)>;

class Verification {
 public:
  // Has no tree, so all is settled.
  Verification() = default;
  // The tree must outlive the verification.
  explicit Verification(const TokenTree& tree) : tree_(&tree), node_(TokenTree::kRoot), verdict_{.path = {TokenTree::kRoot}} {}

  // Returns the node for whose logits the next token is chosen: the last node of the path. kNone once all is settled.
  int node() const { return node_; }
  // Treats these nodes as if they had not been drafted, because a pass has left the nodes out half-way (prune_rule.h). gone: by node; must
  // outlive the verification. REQUIRES: neither the root nor a settled node is gone.
  void Prune(const std::vector<bool>& gone) { gone_ = &gone; }
  // Takes the token that was chosen from the logits of node(). REQUIRES: node() is not kNone.
  void Next(const Choice& choice);
  // Returns the verdict so far. Afterwards the verification has no tree.
  Verdict Take();

 private:
  const TokenTree* tree_ = nullptr;
  const std::vector<bool>* gone_ = nullptr;
  int node_ = TokenTree::kNone;
  Verdict verdict_;
};

// Verifies a whole tree. The first error of `logits_of_node` or `chooser` ends the verification; the verdict has all tokens settled before.
absl::Status Verify(const TokenTree& tree, LogitsOfNode logits_of_node, Chooser chooser, Verdict& verdict);

}  // namespace tessera
