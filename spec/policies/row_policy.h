// Decides how much of a draft is worth verifying: the nodes with the most expected tokens per second, of one tree or of many that share a
// pass.
//
//   const RowChoice choice = ChooseRows(tree, costs, {.most_rows = 16, .draft_seconds = 2e-5});
//   const TokenTree rows = tree.Pick(choice.nodes);          // none of them: the root alone gives more tokens per second
//   choice.tokens / choice.seconds;                          // what is expected of it
//
//   std::vector<RowChoice> choices = ShareRows({{.tree = &tree}, {.tree = &other}}, costs, {.most_rows = 512});    // one per tree
//   const int piece = PromptRows({.rows = 9, .leaves = 2, .texts = 2}, costs, {.most_rows = 503});    // of a prompt, in the same pass
//
// A step is expected to give each sequence one token and, for every node, the probability that the sequence reaches the node. The step
// costs the drafting, a pass over the rows, and the head. The head runs over the rows that are reached, round by round, or over all rows at
// once if that is less. Rows are added one after another, the most probable first, or the most probable for its time, until none is left.
// The best of all these choices is taken. So a row that costs much (the first of a vector or a tile) is weighed together with the rows
// after it that cost nothing. Pure.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

CostProfile::Shape ShapeOf(const TokenTree& tree);

struct RowLimits {
  int most_rows = 16;          // The root included.
  double draft_seconds = 0;    // Spent already, for every choice.
  double least_gain = 1.03;    // Over the root alone: a smaller gain is not worth an estimate's error.
};

struct RowChoice {
  std::vector<int> nodes = {};      // Below the root, parents first.
  double tokens = 1;           // Expected from the step, 1 for the root alone.
  double seconds = 0;          // This tree's share of the step.
  int leaves = 1;              // The chosen tree's.
  // Nodes of the draft that have forecast rows, ascending, and the number of such rows per node (AddForecasts, forecast_rows.h).
  std::vector<int> forecasts = {};
  int forecast_rows = 0;
  // The other trees of the pass, as chosen for the other sequences.
  CostProfile::Shape beside = {.rows = 0, .leaves = 0, .texts = 0};

  int tree_rows() const { return 1 + static_cast<int>(nodes.size()); }
  CostProfile::Shape shape() const {
    return {.rows = tree_rows() + static_cast<int>(forecasts.size()) * forecast_rows, .leaves = leaves};
  }
};

RowChoice ChooseRows(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits);

// One sequence's draft among the drafts of a pass.
struct TreeToCut {
  const TokenTree* tree = nullptr;
  bool whole = false;          // All nodes, at any cost, as long as there are rows.
  double draft_seconds = 0;    // Spent already.
};

struct ShareLimits {
  int most_rows = CostProfile::kMostRows;   // All trees together, roots included.
  double least_gain = 1.03;                 // Over the roots and whole trees alone.
};

// Returns, for each tree, the nodes with which the pass gives the most tokens per second, all sequences together.
// REQUIRES: at least as many most_rows as trees.
std::vector<RowChoice> ShareRows(absl::Span<const TreeToCut> trees, const CostProfile& costs, const ShareLimits& limits);

// Returns the share of a pass that one sequence is charged for, in (0, 1]. The shares of all sequences sum to 1. The roots' pass is shared
// out evenly; the time that rows and leaves add is charged to the sequences that have the rows and leaves.
double MarginalShare(const CostProfile::Shape& all, const CostProfile::Shape& part, const CostProfile& costs);

struct PromptLimits {
  int most_rows = 0;           // Prompt rows that there is room for.
  double most_gap = 2;         // Most growth of a pass with a row of logits per sequence: a multiple of the time without prompt rows.
};

// Returns the most rows of another sequence's prompt that may join a pass of this shape, by the time of the last passes with such rows
// (CostProfile::AddPromptPass). So prompts are read in chunks that grow until the gap is reached. The chunks shrink where attention to the
// tokens before makes rows dearer. Returns at least four rows, if there is room: no prompt waits for ever.
int PromptRows(const CostProfile::Shape& pass, const CostProfile& costs, const PromptLimits& limits);

// The head's rows: the first nodes of the tree are computed together with the root, the others when the sequence reaches them.
struct HeadChoice {
  int first_rows = 1;
  double seconds = 0;          // Expected, in addition to the others' time.
};
// Chooses the first rows of the head. beside: the other trees of the pass. The roots of all trees are computed in the first call, and later
// rows together with later rows of sequences with drafts.
// REQUIRES: the tree is in Pick's order, so its first nodes are its likeliest path; most_rows >= 1.
HeadChoice ChooseHeadRows(const TokenTree& tree, const CostProfile& costs, int most_rows,
                          const CostProfile::Shape& beside = {.rows = 0, .leaves = 0, .texts = 0});
// Returns the seconds that a head's call over `rows` first rows takes in addition to the others' rows.
double FirstHeadSeconds(int rows, const CostProfile& costs, int others);

}  // namespace tessera
