// How much of a draft is worth verifying: the nodes with the most tokens to be expected for the time they take.
//
//   const RowChoice choice = ChooseRows(tree, costs, {.most_rows = 16, .draft_seconds = 2e-5});
//   const TokenTree rows = tree.Pick(choice.nodes);          // none of them: the root alone gives more tokens per second
//   choice.tokens / choice.seconds;                          // what is expected of it
//
// A step is expected to give one token and, for every node, the probability that the text reaches it. It costs the drafting, a pass over
// the rows, and the head over the rows that are reached, one by one, or over all at once if that is less. Rows are added one after another,
// the most probable first, or the most probable for its time, until none is left; the best of all these trees is chosen. So a row that
// costs much (the first of a vector or a tile) is weighed together with the rows after it that cost nothing. Pure.
#pragma once

#include <vector>

#include "tessera/spec/cost_profile.h"
#include "tessera/spec/token_tree.h"

namespace tessera {

struct RowLimits {
  int most_rows = 16;          // The root included.
  double draft_seconds = 0;    // Spent already, whatever is chosen.
  double least_gain = 1.03;    // Over the root alone: less is not worth an estimate's error.
};

struct RowChoice {
  std::vector<int> nodes = {};      // Below the root, parents first.
  double tokens = 1;           // To be expected of the step, 1 for the root alone.
  double seconds = 0;
};

RowChoice ChooseRows(const TokenTree& tree, const CostProfile& costs, const RowLimits& limits);

// The head's rows: the first of the tree's nodes are computed together with the root, the others when the text reaches them.
struct HeadChoice {
  int first_rows = 1;
  double seconds = 0;          // To be expected.
};
// REQUIRES: the tree is in Pick's order, so its first nodes are its likeliest path; most_rows >= 1.
HeadChoice ChooseHeadRows(const TokenTree& tree, const CostProfile& costs, int most_rows);

}  // namespace tessera
