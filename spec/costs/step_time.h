// What a step took, and what the costs learn from it: whoever ran the pass tells them once, for all the texts that it was for.
//
//   StepTime time = {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001};
//   LearnStep(ShapeOf(tree), time, costs);                       // one text
//   LearnStep({.rows = 24, .leaves = 9, .texts = 8}, time, costs);   // eight; rounds of logits after the first by CostProfile::AddHead
//
// A pass that holds pieces of prompts as well teaches nothing of what decoding costs: it is told by CostProfile::AddPromptPass alone.
// Thread-compatible.
#pragma once

#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

// What a step took, apart from drafting: all of it, or one text's share.
struct StepTime {
  double pass_seconds = 0;     // All rows, without the head.
  int first_rows = 0;          // Rows of logits that were computed at once, in
  double first_seconds = 0;
  int later_rows = 0;          // And rows that were computed one by one, in all.
  double later_seconds = 0;
  int ahead_rows = 0;          // And rows of forecasts (Verdict::ahead), with the choice of their likeliest tokens.
  double ahead_seconds = 0;
  int top_rows = 0;            // Rows for which TopTokensOf was called, but for forecasts.
  double top_seconds = 0;
};

inline void LearnStep(const CostProfile::Shape& shape, const StepTime& time, CostProfile& costs) {
  costs.AddPass(shape, time.pass_seconds);
  if (time.first_rows > 0) costs.AddHead(time.first_rows, time.first_seconds);
  if (time.later_rows > 0) costs.AddHead(1, time.later_seconds / time.later_rows);
  costs.AddTop(time.top_rows, time.top_seconds);
}

}  // namespace tessera
