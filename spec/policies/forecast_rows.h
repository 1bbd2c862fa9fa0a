// Chooses the nodes of a draft that get forecasts: rows that guess the tokens after next, for the next draft (forecast_drafter.h).
// Forecasts are useful only at the node where the sequence stops, and take rows that nodes could have.
//
//   RowChoice choice = ChooseRows(draft, costs, {.most_rows = 32});
//   AddForecasts(draft, costs, {.rows_each = 2, .most_rows = 32, .most_depth = 100, .tokens = 1.3}, choice);
//   choice.forecasts;                                     // of the draft's nodes: the root, and perhaps others that are chosen
//
// The sequence stops at a node if it comes there and to none of the node's children. Forecasts at that node are expected to give the next
// pass `tokens` more tokens. Lambda is the expected tokens per second of the choice. The planner maximizes
//
//   tokens of this pass  +  tokens x (probability that the text stops where there are forecasts)  -  lambda x seconds of the pass
//
// over all n and f: the first n of the choice's nodes, with forecasts for the f nodes of them at which the sequence stops most probably. So
// a branch that pays little makes room for forecasts, and rows that cost too much get none. Pure.
#pragma once

#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/policies/row_policy.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

struct ForecastLimits {
  int rows_each = 1;         // Next to a node, at least 1.
  int most_rows = 0;         // Nodes, the root included, and all forecasts.
  int most_depth = 0;        // Deeper nodes get none.
  double tokens = 0;         // Expected gain of the next pass from forecasts.
  bool weigh_costs = true;   // False, or while no step is known: rows cost nothing.
};

// Adds forecasts to a choice, from which nodes may leave; the choice's seconds stay. REQUIRES: the choice was made of the draft, and its
// nodes fit.
void AddForecasts(const TokenTree& draft, const CostProfile& costs, const ForecastLimits& limits, RowChoice& choice);

}  // namespace tessera
