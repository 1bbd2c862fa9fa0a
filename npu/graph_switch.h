// Plans how a model of blocks goes from its prefill graphs to its decode graphs while a prompt is read, and tells what comes of a plan.
//
//   std::vector<SwitchTimes> blocks(6, {.prefill_seconds = 1, .decode_seconds = 0.5, .load_seconds = 2});
//   SwitchPrompt prompt = {.chunks = 2, .sub_chunks = 2};
//   ASSIGN_OR_RETURN(SwitchPlan plan, PlanSwitch(blocks, prompt, SwitchRule::kPlanned));
//   ASSIGN_OR_RETURN(SwitchOutcome outcome, SimulateSwitch(blocks, prompt, plan));
//   double seconds = outcome.total_seconds();      // the prompt is read, and every block has its decode graph
//
// Memory holds one graph of each block. So loading a block's other graph takes away the one it has when the load begins, and compute that
// comes to the block waits for the load's end. Compute is one resource, which takes step `chunk * blocks + block` after step; loading is
// another, which takes load after load. A block with its decode graph runs it once for each sub-chunk of a chunk: the same result.
// Pure functions; thread-safe. Times are in seconds from the prompt's arrival.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

inline constexpr int kMostSwitchBlocks = 64;
inline constexpr int kMostSwitchSteps = 1 << 20;       // Blocks times chunks.
inline constexpr int kMostSubChunks = 1 << 16;
inline constexpr double kMostSwitchSeconds = 1e9;      // So that no sum of them is infinite.

// What one block takes.
struct SwitchTimes {
  double prefill_seconds = 0;   // One run of its prefill graph: a whole chunk.
  double decode_seconds = 0;    // One run of its decode graph: a sub-chunk.
  double load_seconds = 0;      // Loading the decode graph in place of the other.
  double return_seconds = 0;    // Loading the prefill graph in place of the other.
};

struct SwitchPrompt {
  int chunks = 1;
  int sub_chunks = 1;             // Runs of a decode graph that a chunk takes.
  int last_sub_chunks = 0;        // Those of the last chunk, if it is shorter: 0: as many as the others.
  double last_share = 1;          // What a prefill graph takes of prefill_seconds for the last chunk: 1 where it pads rows.
  double idle_seconds = 0;        // Before the prompt arrives, in which loads may begin.
};

enum class SwitchRule : uint8_t {
  kPadded,        // Never switches: what is decoded is padded to the prefill graph.
  kSynchronous,   // All loads after the prompt.
  kNaive,         // sd.npu's "asynchronous loading": in the last chunk, a block's load begins when the block has computed.
  kPublished,     // sd.npu's rule: from the first step on, the last unswitched block loads while the next LeastCover blocks compute.
  kPlanned,       // Chooses order and begins by a search. Never later than the three above.
};
inline constexpr SwitchRule kSwitchRules[] = {SwitchRule::kPadded, SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished,
                                              SwitchRule::kPlanned};
absl::string_view SwitchRuleName(SwitchRule rule);   // "padded", "synchronous", "naive", "published", "planned".
// InvalidArgument (found, the names) for anything else.
absl::StatusOr<SwitchRule> SwitchRuleFromName(absl::string_view name);

// Loads the graph that the block does not have. It begins when compute step `before` could begin, or at the prompt's end for chunks *
// blocks, or with the idle time for kBeforePrompt; but never before the load ahead of it has ended, nor while the block computes.
struct SwitchLoad {
  int block = 0;
  int before = 0;
  friend bool operator==(const SwitchLoad& a, const SwitchLoad& b) = default;
};
inline constexpr int kBeforePrompt = -1;

struct SwitchPlan {
  bool from_decode = false;               // The graphs that all blocks have at first.
  std::vector<SwitchLoad> loads = {};     // In the order in which they are made; `before` never falls.
  // Where blocks differ: whether each has its decode graph at first. Empty: all are as from_decode says.
  std::vector<bool> had_decode = {};
  bool HadDecode(int block) const { return had_decode.empty() ? from_decode : had_decode[static_cast<size_t>(block)]; }
};

// A block's part of a chunk, and a load, where they came to lie. Begins before the prompt arrives are negative.
struct SwitchRun { int chunk; int block; bool decode_graph; int runs; double begin_seconds; double end_seconds; };
struct PlacedLoad { int block; bool decode_graph; double begin_seconds; double end_seconds; };

struct SwitchOutcome {
  double read_seconds = 0;       // When the prompt is read.
  double switched_seconds = 0;   // When the last load ends; 0 if that is before the prompt arrives.
  double waited_seconds = 0;     // In which compute waited for loads.
  std::vector<SwitchRun> runs = {};
  std::vector<PlacedLoad> loads = {};
  double total_seconds() const { return std::max(read_seconds, switched_seconds); }
};

// k* of sd.npu's eq. 2: the least k >= 1 so that the first k of `compute_seconds`, those of the blocks that compute next, take as long as
// a load. All of them, if they do not.
int LeastCover(double load_seconds, absl::Span<const double> compute_seconds);

// Blocks have their prefill graphs at first. InvalidArgument, with what was found and expected, for a time outside 0 to
// kMostSwitchSeconds, no blocks or more than kMostSwitchBlocks, a prompt without chunks or of more than kMostSwitchSteps, sub-chunks
// outside 1 to kMostSubChunks (those of the last chunk: 0 to sub_chunks), and a last_share outside 0 to 1.
absl::StatusOr<SwitchPlan> PlanSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, SwitchRule rule);
// The same where some blocks have their decode graphs already, which they keep: one entry per block, or InvalidArgument.
absl::StatusOr<SwitchPlan> PlanSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, SwitchRule rule,
                                      const std::vector<bool>& had_decode);

// The way back, from decode graphs to prefill graphs while no prompt is there: in the order in which the next one needs the blocks. One
// that arrives meanwhile waits for the block that is loading, and so on. Loads taken off the plan's end leave blocks their decode graphs,
// with which a short prompt may be read sooner. The loads of a PlanSwitch may follow in the same plan.
SwitchPlan PlanReturn(int blocks);

// What comes of a plan. InvalidArgument as PlanSwitch, and for a load of a block or before a step that is not there, a `before` that
// falls, or a had_decode of another size.
absl::StatusOr<SwitchOutcome> SimulateSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, const SwitchPlan& plan);

}  // namespace tessera
