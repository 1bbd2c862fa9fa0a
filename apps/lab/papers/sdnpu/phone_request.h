// A whole request on a modeled phone: the prompt is read by chunks while graphs are switched, then the answer is written pass by pass.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<PhoneCosts> phone, PhoneCosts::Open(profile, "qwen2.5-1.5b"));    // phone_costs.h
//   const RequestSetup setup = {.rule = SwitchRule::kPublished, .blocks = 6, .drafting = Drafting::kRecorded};
//   const RequestWork work = {.prompt_tokens = 900, .tokens = 64, .passes = text.passes};                     // of a recording
//   ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(phone->costs(), setup, work));
//   Print(result.seconds.total(), result.seconds.switching, result.joules);
//
// Acceptance comes from recordings of real decoding, time from the costs; neither is scaled. Rows cost what the graph costs that runs
// them: all of its rows, unless the costs say otherwise (RequestCosts::held_run). Time is virtual and starts at 0 with the prompt's
// arrival; it never goes back, and never passes kMostRequestSeconds. Thread-safe (pure functions), if the costs are and but for the
// timeline.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/record/recording.h"
#include "tessera/base/timeline.h"
#include "tessera/npu/graph_switch.h"
#include "tessera/npu/modeled/execution_style.h"

namespace tessera {

inline constexpr double kMostRequestSeconds = 1e9;   // So that nanoseconds fit into 64 bits.
inline constexpr int kMostRequestTokens = 1 << 20, kMostRequestRows = 4096;

// Time, and energy with that of being on.
struct RunCost {
  double seconds = 0;
  double joules = 0;
  RunCost& operator+=(const RunCost& other) {
    seconds += other.seconds;
    joules += other.joules;
    return *this;
  }
  friend RunCost operator+(RunCost a, const RunCost& b) { return a += b; }
  friend RunCost operator*(double times, const RunCost& cost) { return {times * cost.seconds, times * cost.joules}; }
};

// What a phone takes for the parts of a request.
struct RequestCosts {
  int layers = 1;
  double call_seconds = 0;             // Each call of a graph.
  double load_seconds = 0;             // Loading a graph,
  double load_seconds_per_layer = 0;   // and each of its layers.
  double draft_seconds = 0;            // A drafter's step, on the CPU.
  double calibrate_seconds = 0;        // Per token of a prompt whose logits are sampled, on the CPU.
  double idle_watts = 0, cpu_watts = 0, flash_watts = 0;
  // One run of all layers in a static graph of so many rows, without its call; a run of the output norm and the head on so many rows; and
  // a whole pass by the CPU alone. positions: in the cache, with these rows.
  std::function<absl::StatusOr<RunCost>(int rows, int64_t positions)> layer_run = {};
  // In place of layer_run, where attention costs what the `held` rows of a graph cost that hold something. Null: all rows cost the same.
  std::function<absl::StatusOr<RunCost>(int rows, int held, int64_t positions)> held_run = {};
  std::function<absl::StatusOr<RunCost>(int rows)> head_run = {};
  std::function<absl::StatusOr<RunCost>(int rows, int64_t positions)> cpu_pass = {};
};

enum class Drafting : uint8_t {
  kNone,       // A pass for each token.
  kRecorded,   // The passes of a recording, a step of a drafter before each.
  kModel,      // By a model of one layer and the head, simulated as sd.npu does, section 4.1: a token costs one run of that, and a pass
};             // over a full decode graph divided by the fixed number of tokens that it gives.

struct RequestSetup {
  SwitchRule rule = SwitchRule::kPadded;      // kPadded: answers are written with the prefill graph, as are those of the CPU without it.
  int blocks = 1;                             // Graphs that the layers are cut into, each with a call of its own.
  int prefill_rows = 256, decode_rows = 32;
  ComputePlace decode = ComputePlace::kNpu;   // kCpu: no graph is switched, and no pass padded.
  Drafting drafting = Drafting::kNone;
  bool calibrates = false;                    // Samples the prompt's logits for its drafter.
  double model_tokens = 1;                    // Drafting::kModel: tokens that a pass gives.
};

struct RequestWork {
  int prompt_tokens = 1;
  int tokens = 1;                             // Written; the first is the prompt's own.
  absl::Span<const RecordedPass> passes = {};  // Drafting::kRecorded.
};

// Parts that never overlap: while graphs load beside computing, that is computing.
struct RequestParts {
  double prefill = 0;       // Computing on the prompt, in whichever graphs, and its head.
  double switching = 0;     // Waiting for graphs.
  double calibration = 0;
  double decode = 0;        // Passes over the answer.
  double drafting = 0;
  double total() const { return prefill + switching + calibration + decode + drafting; }
  RequestParts& operator+=(const RequestParts& other);
};

struct RequestResult {
  RequestParts seconds = {};
  double joules = 0;                                        // Powers are assumed: compare ratios alone.
  int tokens = 0;
  double passes = 0;                                        // Over the answer. Drafting::kModel: not whole.
  // Rows of these passes: those that gave a token, drafts that did not come true, and those that held nothing.
  double valid_rows = 0, wasted_rows = 0, empty_rows = 0;
};

// timeline: gets what ran when, on three tracks: blocks of the prompt (kGraphRun) and the layers of a pass (kPass, detail: its rows that
// hold something) on the NPU, attention within them; loads of blocks (kLoad) on flash; calibration (kSample), drafting (kOperator) and
// heads (kHead) on the CPU, with passes of the CPU (kPass). May be null.
// InvalidArgument (found, expected) for setups and work out of range, passes that do not give all tokens or accept more than they
// drafted, costs that are negative or no numbers, and what would take more than kMostRequestSeconds. Errors of the costs; the error of
// PlanSwitch.
absl::StatusOr<RequestResult> SimulateRequest(const RequestCosts& costs, const RequestSetup& setup, const RequestWork& work,
                                              Timeline* timeline = nullptr);

// The number of blocks, at most kMostChosenBlocks and the model's layers, with which such a request without drafts ends soonest by the
// setup's rule: what a profile of the phone tells (000, section 3.2, and 003: "the optimal partitioning"). Among equals the least. The
// errors of SimulateRequest.
inline constexpr int kMostChosenBlocks = 12;
absl::StatusOr<int> ChooseBlocks(const RequestCosts& costs, RequestSetup setup, const RequestWork& work);

}  // namespace tessera
