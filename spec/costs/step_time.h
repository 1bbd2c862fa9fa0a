// The time of a step, and how the costs learn from the time. The caller that ran the pass calls LearnStep once, for all texts of the pass.
//
//   StepTime time = {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001};
//   LearnStep(ShapeOf(tree), time, costs);                       // one text
//   LearnStep({.rows = 24, .leaves = 9, .texts = 8}, time, costs);   // eight; rounds of logits after the first by CostProfile::AddHead
//
// A pass that also holds chunks of prompts teaches nothing about the cost of decoding. Report such a pass by CostProfile::AddPromptPass
// alone.
// Thread-compatible.
#pragma once

#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

// The seconds of a step without drafting: the whole step, or one text's share.
struct StepTime {
  double pass_seconds = 0;     // All rows, without the head.
  int first_rows = 0;          // Rows of logits computed at once, within first_seconds.
  double first_seconds = 0;
  int later_rows = 0;          // Rows that were computed one by one; the seconds of all.
  double later_seconds = 0;
  int ahead_rows = 0;          // Rows of forecasts (Verdict::ahead), with the choice of their likeliest tokens.
  double ahead_seconds = 0;
  int top_rows = 0;            // Rows for which TopTokensOf was called, except for forecasts.
  double top_seconds = 0;
};

inline void LearnStep(const CostProfile::Shape& shape, const StepTime& time, CostProfile& costs) {
  costs.AddPass(shape, time.pass_seconds);
  if (time.first_rows > 0) costs.AddHead(time.first_rows, time.first_seconds);
  if (time.later_rows > 0) costs.AddHead(1, time.later_seconds / time.later_rows);
  costs.AddTop(time.top_rows, time.top_seconds);
}

}  // namespace tessera
