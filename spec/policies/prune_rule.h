// Chooses the rows of a draft that are worth the upper half of a model's layers, by scores that a predictor gives after the lower half
// (Lever, section 4.3).
//
//   PruneOptions options = {.threshold = 0.2f};
//   RETURN_IF_ERROR(CheckPruneOptions(options));
//   std::vector<CandidateSet> sets = speculator.Candidates(tree);      // what the draft said may come after each node with children
//   ... scores, one per token of a set ...
//   const std::vector<int> kept = PruneTree(tree, sets, options);      // parents first; all nodes if pruning is refused
//
// An edge's value r is the softmax of its score among all candidates of its parent, at a temperature. Candidates without a node ("shadow
// tokens") stand in the denominator alone: without them an only child would always have the value 1. An edge with r below the threshold is
// removable. Safeguards then decide which of the removable edges stay:
//
//   ancestors   a node that is not removable keeps its ancestors;
//   backbone    from the root the best child, its best child, and so on to a leaf, stays;
//   root        the best children of the root stay, where the next token is least certain;
//   too bold    if too few rows or leaves would be left, all stay.
//
// Without safeguards a removable edge takes everything below along. A pruned node counts as not drafted, so pruning does not change the
// sequence. Edges have the value 1 if their parent has no set, or a set with a score that is not a number. Pure.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

// The tokens that may come after a node, by the drafters.
struct CandidateSet {
  int node = TokenTree::kRoot;
  std::vector<TokenId> tokens = {};   // Each once; contains the tokens of the node's children.
  std::vector<float> scores = {};     // [tokens]: the predictor's score of each, as logits.
};

struct PruneOptions {
  float threshold = 0.1f;          // theta: edges with r below theta are removable. 0: no edge is; above 1: every edge.
  float temperature = 1;           // tau of r.
  bool with_shadow_tokens = true;  // False: only candidates with a node count.
  bool with_safeguards = true;     // False: no safeguard below holds.
  bool keep_ancestors = true;      // False: a removable edge takes all below along, except rows that other safeguards keep.
  int keep_near_root = 2;          // Best children of the root that stay.
  int least_rows_left = 3;         // The root included.
  int least_leaves_left = 1;       // Leaves. With fewer rows or leaves left, the pruning is refused as too bold.
  int least_rows_dropped = 1;      // With fewer, the pruning is refused as not worth it. Also without safeguards.
};

// InvalidArgument (field, found, expected) for a threshold or temperature that is not finite, a negative number, or a temperature of 0.
absl::Status CheckPruneOptions(const PruneOptions& options);

// Parses options, for sweeps: "threshold=0.05,tau=2"; also near_root, rows_left, leaves_left, rows_dropped (0 to 512) and ancestors (0 or
// 1). Missing keys keep the values of `from`. InvalidArgument (found, expected, intended key) for an unknown key, a key that stands twice,
// and a value that is none.
absl::StatusOr<PruneOptions> ParsePruneOptions(absl::string_view text, const PruneOptions& from);

// Returns false if no scores can make PruneTree drop a row; then no scores need be computed.
bool MayPrune(const TokenTree& tree, const PruneOptions& options);

// Returns by node: r of the edge to the node; 1 for the root.
// REQUIRES, here and below: as many scores as tokens; sets are of nodes of the tree, at most one per node; options pass CheckPruneOptions.
std::vector<float> EdgeValues(const TokenTree& tree, absl::Span<const CandidateSet> sets, const PruneOptions& options);

// Returns the nodes that stay, ascending, so parents first; the root is among them.
std::vector<int> PruneTree(const TokenTree& tree, absl::Span<const CandidateSet> sets, const PruneOptions& options);

}  // namespace tessera
