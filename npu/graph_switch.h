// Plans how a model of blocks switches from prefill graphs to decode graphs while a prompt is read, and simulates a plan.
//
//   std::vector<SwitchTimes> blocks(6, {.prefill_seconds = 1, .decode_seconds = 0.5, .load_seconds = 2});
//   SwitchPrompt prompt = {.chunks = 2, .sub_chunks = 2};
//   ASSIGN_OR_RETURN(SwitchPlan plan, PlanSwitch(blocks, prompt, SwitchRule::kPlanned));
//   ASSIGN_OR_RETURN(SwitchOutcome outcome, SimulateSwitch(blocks, prompt, plan));
//   double seconds = outcome.total_seconds();      // the prompt is read, and every block has its decode graph
//
// Memory holds one graph per block. Loading a block's other graph removes the present graph at the begin of the load. Compute that reaches
// the block waits for the end of the load. Compute is one resource and takes step `chunk * blocks + block` after step; loading is another
// resource and takes load after load. A block with its decode graph runs the graph once for each sub-chunk of a chunk, with the same
// result. Times are in seconds from the prompt's arrival.
//
// Threads: thread-safe (pure functions).
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
inline constexpr double kMostSwitchSeconds = 1e9;      // Keeps every sum finite.

// The times of one block.
struct SwitchTimes {
  double prefill_seconds = 0;   // One run of the prefill graph: a whole chunk.
  double decode_seconds = 0;    // One run of the decode graph: a sub-chunk.
  double load_seconds = 0;      // Loading the decode graph in place of the prefill graph.
  double return_seconds = 0;    // Loading the prefill graph in place of the decode graph.
};

struct SwitchPrompt {
  int chunks = 1;
  int sub_chunks = 1;             // Runs of a decode graph per chunk.
  int last_sub_chunks = 0;        // Runs of a decode graph for the last chunk, if shorter. 0: as many as the others.
  double last_share = 1;          // A prefill graph's time for the last chunk, as a share of prefill_seconds: 1 where the graph pads rows.
  double idle_seconds = 0;        // Time before the prompt arrives. Loads may begin in this time.
};

enum class SwitchRule : uint8_t {
  kPadded,        // Never switches: decode passes are padded to the prefill graph.
  kSynchronous,   // All loads after the prompt.
  kNaive,         // sd.npu's "asynchronous loading": in the last chunk, a block's load begins when the block has computed.
  // sd.npu's rule: from the first step on, blocks load one by one, last block first. Each load is hidden behind the compute of the next
  // LeastCover blocks.
  kPublished,
  kPlanned,       // Searches for the order and the begins of loads. Never ends later than the last three above.
};
inline constexpr SwitchRule kSwitchRules[] = {SwitchRule::kPadded, SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished,
                                              SwitchRule::kPlanned};
absl::string_view SwitchRuleName(SwitchRule rule);   // "padded", "synchronous", "naive", "published", "planned".
// InvalidArgument (found, the names) for any other name.
absl::StatusOr<SwitchRule> SwitchRuleFromName(absl::string_view name);

// Loads the graph that the block does not have. The load begins when compute step `before` could begin; at the prompt's end if `before` is
// chunks * blocks; or with the idle time if `before` is kBeforePrompt. A load never begins before the previous load has ended, nor while
// the block computes.
struct SwitchLoad {
  int block = 0;
  int before = 0;
  friend bool operator==(const SwitchLoad& a, const SwitchLoad& b) = default;
};
inline constexpr int kBeforePrompt = -1;

struct SwitchPlan {
  bool from_decode = false;               // True if all blocks begin with decode graphs.
  std::vector<SwitchLoad> loads = {};     // In order of execution; `before` never decreases.
  // For blocks that differ: whether each block begins with its decode graph. Empty: all blocks follow from_decode.
  std::vector<bool> had_decode = {};
  bool HadDecode(int block) const { return had_decode.empty() ? from_decode : had_decode[static_cast<size_t>(block)]; }
};

// A block's part of a chunk, and a load, with simulated times. Begins before the prompt arrives are negative.
struct SwitchRun { int chunk; int block; bool decode_graph; int runs; double begin_seconds; double end_seconds; };
struct PlacedLoad { int block; bool decode_graph; double begin_seconds; double end_seconds; };

struct SwitchOutcome {
  double read_seconds = 0;       // The end of reading the prompt.
  double switched_seconds = 0;   // The end of the last load; 0 if loads end before the prompt arrives.
  double waited_seconds = 0;     // Time in which compute waited for loads.
  std::vector<SwitchRun> runs = {};
  std::vector<PlacedLoad> loads = {};
  double total_seconds() const { return std::max(read_seconds, switched_seconds); }
};

// Returns k* of sd.npu's eq. 2: the least k >= 1 such that the first k of `compute_seconds` take at least as long as a load. Returns the
// size of `compute_seconds` if no k is enough. compute_seconds: times of the blocks that compute next.
int LeastCover(double load_seconds, absl::Span<const double> compute_seconds);

// Plans the loads of a prompt; blocks begin with prefill graphs.
//
// Errors: InvalidArgument (found, expected) for a time outside 0 to kMostSwitchSeconds; no blocks or more than kMostSwitchBlocks; no chunks
// or more than kMostSwitchSteps steps. Also for sub-chunks outside 1 to kMostSubChunks, sub-chunks of the last chunk outside 0 to
// sub_chunks, or a last_share outside 0 to 1.
absl::StatusOr<SwitchPlan> PlanSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, SwitchRule rule);
// Plans the same if some blocks already have their decode graphs; such blocks keep them. had_decode: one entry per block, else
// InvalidArgument.
absl::StatusOr<SwitchPlan> PlanSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, SwitchRule rule,
                                      const std::vector<bool>& had_decode);

// Plans the way back, from decode graphs to prefill graphs while there is no prompt. Loads follow the order in which the next prompt needs
// the blocks. A prompt that arrives meanwhile waits for the block that is loading, and so on. Removing loads from the plan's end leaves
// those blocks their decode graphs; a short prompt may then be read sooner. The loads of a PlanSwitch may follow in the same plan.
SwitchPlan PlanReturn(int blocks);

// Simulates a plan. InvalidArgument as PlanSwitch; also for a load of a block or before a step that does not exist, a `before` that
// decreases, or a had_decode of another size.
absl::StatusOr<SwitchOutcome> SimulateSwitch(absl::Span<const SwitchTimes> blocks, const SwitchPrompt& prompt, const SwitchPlan& plan);

}  // namespace tessera
