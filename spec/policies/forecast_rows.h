// Which nodes of a draft get forecasts: rows that guess the tokens after next, for the next draft (forecast_drafter.h). They are of use
// only where the text stops in the tree, and take rows that nodes could have.
//
//   RowChoice choice = ChooseRows(draft, costs, {.most_rows = 32});
//   AddForecasts(draft, costs, {.rows_each = 2, .most_rows = 32, .most_depth = 100, .tokens = 1.3}, choice);
//   choice.forecasts;                                     // of the draft's nodes: the root, and perhaps others that are chosen
//
// The text stops at a node with the probability that it comes there and to none of its children. Forecasts that are there then are
// expected to give the next pass so many tokens more. So with lambda, the tokens per second that are expected of the choice, what counts is
//
//   tokens of this pass  +  tokens x (probability that the text stops where there are forecasts)  -  lambda x seconds of the pass
//
// and the best is taken among the first n of the choice's nodes, with forecasts for the f nodes of these at which the text stops most
// probably, for all n and f. A branch that pays little so makes room for forecasts, and rows that cost too much get none. Pure.
#pragma once

#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/policies/row_policy.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

struct ForecastLimits {
  int rows_each = 1;         // Beside a node, at least 1.
  int most_rows = 0;         // Nodes, the root included, and all forecasts.
  int most_depth = 0;        // Deeper nodes get none.
  double tokens = 0;         // That they are expected to add to the next pass.
  bool weigh_costs = true;   // False, or while no step is known: rows cost nothing.
};

// Nodes that go leave the choice; its seconds stay as they were. REQUIRES: the choice was made of the draft, and its nodes fit.
void AddForecasts(const TokenTree& draft, const CostProfile& costs, const ForecastLimits& limits, RowChoice& choice);

}  // namespace tessera
