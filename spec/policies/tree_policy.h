// Rules, chosen by name, that grow a tree from a draft, on one code path. A policy and a draft alternate: the policy asks for candidates of
// some nodes, sees the candidates, and asks for more.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<TreePolicy> policy, MakeTreePolicy("chain:tokens=8", {.profile = &costs}));
//   DraftPool pool(root, expander, {});
//   ASSIGN_OR_RETURN(const std::vector<int> nodes, policy->Grow({.max_nodes = 31}, pool));
//   const TokenTree tree = pool.tree().Pick(nodes);
//   policy->Learn(pool.Follow(verdict.emitted));        // once it is known what came
//
// NAME, or NAME:KEY=VALUE,KEY=VALUE. The header in parentheses explains each rule's keys and gives the rule's source:
//
//   lever        blocks=1, optimistic=0                 the most tokens per second (gain_cost_tree.h)
//   chain        tokens=8, least=0                      the likeliest token again and again (fixed_trees.h)
//   edgellm      threshold=0.1                          all that is likely enough
//   specinfer    widths=1x1x3x1x1x1x1x1                 so many children at each level
//   opt_tree     nodes=50, threshold=0.5, depth=10      the most tokens for so many nodes (ranked_trees.h)
//   eagle2       width=10, depth=7, nodes=59            the best of each level, then of all
//   sequoia      nodes=64, depth=12, branches=8         a shape by how often the first, second, ... child comes (sequoia_tree.h)
//
// Pool, costs and past determine the tree. Threads: as a Drafter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/trees/draft_pool.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

// The seconds of a cycle in addition to the draft.
struct TreeCosts {
  const CostProfile* profile = nullptr;   // Passes by rows and leaves, and the head. Must outlive the policy; null: unknown.
  double io_seconds = 0;                  // Added to each pass: reading that nothing hides, if the profile has only the time that rows add.

  bool known() const { return profile != nullptr && profile->KnowsSteps(); }
};

class TreePolicy {
 public:
  virtual ~TreePolicy() = default;
  virtual absl::string_view name() const = 0;
  virtual int candidates() const { return 8; }   // Useful candidates per node.

  // Returns the nodes of the pool's tree to verify, parents first: at most max_nodes, none deeper than max_depth; may be empty. Errors are
  // errors of the expander. REQUIRES: nothing is expanded yet.
  virtual absl::StatusOr<std::vector<int>> Grow(const DraftBudget& budget, DraftPool& pool) = 0;

  // Learns the outcome of the nodes that were expanded for the last tree.
  virtual void Learn(absl::Span<const DraftPool::Step> /*steps*/) {}
};

std::vector<std::string> TreePolicyNames();

// InvalidArgument (found, expected, intended name) for an unknown name or key, and for a value that is none or out of range.
absl::StatusOr<std::unique_ptr<TreePolicy>> MakeTreePolicy(absl::string_view text, const TreeCosts& costs);

}  // namespace tessera
