// Chooses a model's blocks, whose graphs are switched while a prompt is read, and the rows of the graphs, from the times of the layers.
//
//   std::vector<GraphTimes> graphs = {{.rows = 32, .run_seconds = {...}, .load_seconds = {...}}, {.rows = 256, ...}};   // per layer
//   graphs[0].fixed_seconds = 0.2;   // of each of load_seconds: a block of several layers has it once
//   ASSIGN_OR_RETURN(SwitchChoice choice, ChooseSwitch(graphs, {.prefill_rows = {256}, .decode_rows = {32}, .prompt_tokens = 512}));
//   choice.ends;                    // {8, 16, 24}: three blocks of eight layers
//   choice.seconds();               // a prompt of 512 tokens, and decoding after it
//
// Blocks are equal shares of the layers, as in sd.npu, or shares of about equal time. The search plans every number of blocks with the fast
// rules (graph_switch.h), then the best candidates with the requested rule. The choice is deterministic. Among equally good choices, the
// one with the fewest blocks wins.
//
// Threads: thread-safe (pure functions).
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

// The times of layers with graphs of `rows` rows.
struct GraphTimes {
  int rows = 0;
  std::vector<double> run_seconds = {};    // Per layer: one run, all rows of the graph.
  std::vector<double> load_seconds = {};   // Per layer: a separate load of the graph in place of another.
  double fixed_seconds = 0;                // Part of each of load_seconds that a load of several layers has once.
};

// Checks `graphs`. InvalidArgument (which, found, expected) unless all of this holds. There are graphs, in ascending order of rows. All
// have the same layers, 1 to kMostSwitchLayers. All times are in 0 to kMostSwitchSeconds. fixed_seconds is at most the least of
// load_seconds.
absl::Status CheckGraphTimes(absl::Span<const GraphTimes> graphs);

struct SwitchQuestion {
  SwitchRule rule = SwitchRule::kPlanned;
  std::vector<int> prefill_rows = {};   // Candidates, each among the graphs.
  std::vector<int> decode_rows = {};    // Candidates, each among the graphs, at most the rows of the prefill graph.
  int blocks = 0;                       // 0: any number from 1 to the number of layers, at most kMostSwitchBlocks.
  int prompt_tokens = 512;              // Tokens of a typical prompt.
  int decode_passes = 64;               // Decode passes after the prompt.
  int pass_rows = 32;                   // Rows of a decode pass: a draft's rows.
};

struct SwitchChoice {
  int prefill_rows = 0, decode_rows = 0;
  std::vector<int> ends = {};           // Ends of blocks, in layers.
  std::vector<SwitchTimes> times = {};  // Per block.
  double prompt_seconds = 0;            // Time until the prompt is read and all blocks have decode graphs.
  double decode_seconds = 0;            // Time of all decode passes.
  double seconds() const { return prompt_seconds + decode_seconds; }
};

// Chooses blocks and rows. InvalidArgument as CheckGraphTimes. Also InvalidArgument (found, expected) if candidates are not among the
// graphs, no candidates fit together, the number of blocks exceeds the layers, or a count is out of range.
absl::StatusOr<SwitchChoice> ChooseSwitch(absl::Span<const GraphTimes> graphs, const SwitchQuestion& question);

// Returns a prompt in chunks of prefill_rows, with the number of decode runs per chunk. REQUIRES: all arguments are 1 or more.
SwitchPrompt PromptOf(int tokens, int prefill_rows, int decode_rows);

// Returns the ends of blocks that are equal shares of `layers` layers. REQUIRES, as for BalancedShares: 1 <= blocks <= layers.
std::vector<int> EqualShares(int layers, int blocks);
// Returns the ends of blocks such that the longest block takes the least time. seconds: time of each layer.
std::vector<int> BalancedShares(absl::Span<const double> seconds, int blocks);

// Sums times over the layers of each block. fixed_seconds counts once per load, because a block is loaded as one. REQUIRES: both have as
// many layers as the last block's end, and CheckGraphTimes accepts both.
std::vector<SwitchTimes> TimesOfBlocks(const GraphTimes& prefill, const GraphTimes& decode, absl::Span<const int> ends);

}  // namespace tessera
