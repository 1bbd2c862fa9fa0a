// How much of a draft is worth verifying: the nodes with the most tokens to be expected for the time they take, of one tree or of many that
// share a pass.
//
//   const RowChoice choice = ChooseRows(tree, costs, {.most_rows = 16, .draft_seconds = 2e-5});
//   const TokenTree rows = tree.Pick(choice.nodes);          // none of them: the root alone gives more tokens per second
//   choice.tokens / choice.seconds;                          // what is expected of it
//
//   std::vector<RowChoice> choices = ShareRows({{.tree = &tree}, {.tree = &other}}, costs, {.most_rows = 512});    // one per tree
//   const int piece = PromptRows({.rows = 9, .leaves = 2, .texts = 2}, costs, {.most_rows = 503});    // of a prompt, in the same pass
//
// A step is expected to give each text one token and, for every node, the probability that the text reaches it. It costs the drafting, a
// pass over the rows, and the head over the rows that are reached, round by round, or over all at once if that is less. Rows
// are added one after another, the most probable first, or the most probable for its time, until none is left; the best of all these
// choices is taken. So a row that costs much (the first of a vector or a tile) is weighed together with the rows after it that cost
// nothing. Pure.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

CostProfile::Shape ShapeOf(const TokenTree& tree);

struct RowLimits {
  int most_rows = 16;          // The root included.
  double draft_seconds = 0;    // Spent already, whatever is chosen.
  double least_gain = 1.03;    // Over the root alone: less is not worth an estimate's error.
};

struct RowChoice {
  std::vector<int> nodes = {};      // Below the root, parents first.
  double tokens = 1;           // To be expected of the step, 1 for the root alone.
  double seconds = 0;          // This tree's share of it.
  int leaves = 1;              // The tree's, as chosen.
  // Nodes of the draft that have rows beside them, ascending, and how many each (AddForecasts, forecast_rows.h).
  std::vector<int> forecasts = {};
  int forecast_rows = 0;
  // The other trees of the pass, as chosen for them.
  CostProfile::Shape beside = {.rows = 0, .leaves = 0, .texts = 0};

  int tree_rows() const { return 1 + static_cast<int>(nodes.size()); }
  CostProfile::Shape shape() const {
    return {.rows = tree_rows() + static_cast<int>(forecasts.size()) * forecast_rows, .leaves = leaves};
  }
};

RowChoice ChooseRows(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits);

// One text's draft among those of a pass.
struct TreeToCut {
  const TokenTree* tree = nullptr;
  bool whole = false;          // All its nodes, whatever they cost, as long as there are rows.
  double draft_seconds = 0;    // Spent already.
};

struct ShareLimits {
  int most_rows = CostProfile::kMostRows;   // All trees together, their roots included.
  double least_gain = 1.03;                 // Over the roots and whole trees alone.
};

// For each tree, the nodes with which the pass gives the most tokens per second, all texts together.
// REQUIRES: most_rows are as many as the trees, or more.
std::vector<RowChoice> ShareRows(absl::Span<const TreeToCut> trees, const CostProfile& costs, const ShareLimits& limits);

// The share of a pass that one text is charged for, in (0, 1]; shares of all texts are 1 together. The roots' pass is shared out evenly,
// and what rows and leaves add to it is charged to those that have them.
double MarginalShare(const CostProfile::Shape& all, const CostProfile::Shape& part, const CostProfile& costs);

struct PromptLimits {
  int most_rows = 0;           // That there is room for.
  double most_gap = 2;         // A pass with them, and a row of logits of each text, take at most so many times what they take without.
};

// The most rows of another text's prompt that may join a pass of this shape, by what the last passes with such rows took
// (CostProfile::AddPromptPass): so prompts are read in parts that grow until the gap is reached, and shrink where attention to what was
// read makes them dearer. Four rows at least, if there is room: no prompt waits for ever.
int PromptRows(const CostProfile::Shape& pass, const CostProfile& costs, const PromptLimits& limits);

// The head's rows: the first of the tree's nodes are computed together with the root, the others when the text reaches them.
struct HeadChoice {
  int first_rows = 1;
  double seconds = 0;          // To be expected, beside what the others take.
};
// beside: the other trees of the pass. The roots of all are computed in the first call, and later rows with those of texts with drafts.
// REQUIRES: the tree is in Pick's order, so its first nodes are its likeliest path; most_rows >= 1.
HeadChoice ChooseHeadRows(const TokenTree& tree, const CostProfile& costs, int most_rows,
                          const CostProfile::Shape& beside = {.rows = 0, .leaves = 0, .texts = 0});
// What a head's call over so many first rows takes beside the others' rows.
double FirstHeadSeconds(int rows, const CostProfile& costs, int others);

}  // namespace tessera
