// Chooses how a model is cut into blocks whose graphs change places while a prompt is read, and of how many rows its graphs are, from what
// its layers take.
//
//   std::vector<GraphTimes> graphs = {{.rows = 32, .run_seconds = {...}, .load_seconds = {...}}, {.rows = 256, ...}};   // per layer
//   graphs[0].fixed_seconds = 0.2;   // of each of load_seconds: a block of several layers has it once
//   ASSIGN_OR_RETURN(SwitchChoice choice, ChooseSwitch(graphs, {.prefill_rows = {256}, .decode_rows = {32}, .prompt_tokens = 512}));
//   choice.ends;                    // {8, 16, 24}: three blocks of eight layers
//   choice.seconds();               // a prompt of 512 tokens, and decoding after it
//
// Blocks are equal shares of the layers, as sd.npu has them, or shares of about equal time. Every number of blocks is looked at by the
// rules that plan at once (graph_switch.h), and the best of them by the rule that is asked for. The same choice each time; of choices that
// are equally good, that of the fewest blocks. Pure functions; thread-safe.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/npu/graph_switch.h"

namespace tessera {

inline constexpr int kMostSwitchLayers = 256;
inline constexpr int kMostGraphRows = 1 << 16;
inline constexpr int kMostSwitchTokens = 1 << 24;

// What layers take by their graphs of so many rows.
struct GraphTimes {
  int rows = 0;
  std::vector<double> run_seconds = {};    // Each layer's: one run, all rows of the graph,
  std::vector<double> load_seconds = {};   // and loading the graph in place of another, by itself.
  double fixed_seconds = 0;                // What each of load_seconds has, and a load of several layers has once.
};

// InvalidArgument (which, found, expected) unless there are graphs, in ascending order of rows, of the same 1 to kMostSwitchLayers layers,
// all times are in 0 to kMostSwitchSeconds, and fixed_seconds is at most the least of load_seconds.
absl::Status CheckGraphTimes(absl::Span<const GraphTimes> graphs);

struct SwitchQuestion {
  SwitchRule rule = SwitchRule::kPlanned;
  std::vector<int> prefill_rows = {};   // To choose from, each among the graphs;
  std::vector<int> decode_rows = {};    // those of a decode graph are at most those of the prefill graph.
  int blocks = 0;                       // 0: any number from 1 to that of the layers, at most kMostSwitchBlocks.
  int prompt_tokens = 512;              // A typical prompt,
  int decode_passes = 64;               // passes that decode after it,
  int pass_rows = 32;                   // and rows of such a pass: a draft's.
};

struct SwitchChoice {
  int prefill_rows = 0, decode_rows = 0;
  std::vector<int> ends = {};           // Where blocks end, in layers.
  std::vector<SwitchTimes> times = {};  // Each block's.
  double prompt_seconds = 0;            // Until the prompt is read and all blocks have the graphs that they decode with.
  double decode_seconds = 0;            // All passes after it.
  double seconds() const { return prompt_seconds + decode_seconds; }
};

// InvalidArgument as CheckGraphTimes, and (found, expected) for candidates that are not among the graphs, or none that fit together; a
// number of blocks beyond the layers; counts out of range.
absl::StatusOr<SwitchChoice> ChooseSwitch(absl::Span<const GraphTimes> graphs, const SwitchQuestion& question);

// A prompt in chunks of prefill_rows, of which each takes so many runs of a decode graph. REQUIRES: all are 1 or more.
SwitchPrompt PromptOf(int tokens, int prefill_rows, int decode_rows);

// Where blocks end that are equal shares of so many layers. REQUIRES, as for BalancedShares: 1 <= blocks <= layers.
std::vector<int> EqualShares(int layers, int blocks);
// Where blocks end of which the longest takes as little as can be, if layers take so many seconds.
std::vector<int> BalancedShares(absl::Span<const double> seconds, int blocks);

// Sums over the layers of each block; of loads, which a block has one of, with fixed_seconds once. REQUIRES: both are of as many layers as
// the last block ends at, and CheckGraphTimes has nothing against them.
std::vector<SwitchTimes> TimesOfBlocks(const GraphTimes& prefill, const GraphTimes& decode, absl::Span<const int> ends);

}  // namespace tessera
