// Simulates a whole request on a modeled phone: prefill by chunks while graphs are switched, then decode pass by pass.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<PhoneCosts> phone, PhoneCosts::Open(profile, "qwen2.5-1.5b"));    // phone_costs.h
//   const RequestSetup setup = {.rule = SwitchRule::kPublished, .blocks = 6, .drafting = Drafting::kRecorded};
//   const RequestWork work = {.prompt_tokens = 900, .tokens = 64, .passes = text.passes};                     // of a recording
//   ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(phone->costs(), setup, work));
//   Print(result.seconds.total(), result.seconds.switching, result.joules);
//
// Acceptance comes from recordings of real decoding, time from the costs; neither is scaled. A pass costs all rows of its graph, unless the
// costs say otherwise (RequestCosts::held_run). Time is virtual and starts at 0 with the prompt's arrival. Time never goes back, and never
// passes kMostRequestSeconds.
// Thread-safe (pure functions) except for the timeline, if the costs are thread-safe.
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

inline constexpr double kMostRequestSeconds = 1e9;   // The bound lets nanoseconds fit into 64 bits.
inline constexpr int kMostRequestTokens = 1 << 20, kMostRequestRows = 4096;

// Time, and energy that includes the idle power.
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

// Costs of the parts of a request on a phone.
struct RequestCosts {
  int layers = 1;
  double call_seconds = 0;             // Each call of a graph.
  double load_seconds = 0;             // Loading a graph,
  double load_seconds_per_layer = 0;   // and each of its layers.
  double draft_seconds = 0;            // A drafter's step, on the CPU.
  double calibrate_seconds = 0;        // Per token of a prompt whose logits are sampled, on the CPU.
  double idle_watts = 0, cpu_watts = 0, flash_watts = 0;
  // layer_run: one run of all layers in a static graph of `rows` rows, without its call. head_run: a run of the output norm and the head on
  // `rows` rows. cpu_pass: a whole pass by the CPU alone. positions: in the cache, with these rows.
  std::function<absl::StatusOr<RunCost>(int rows, int64_t positions)> layer_run = {};
  // Replaces layer_run where attention costs only the `held` rows of a graph that hold a token. Null: all rows cost the same.
  std::function<absl::StatusOr<RunCost>(int rows, int held, int64_t positions)> held_run = {};
  std::function<absl::StatusOr<RunCost>(int rows)> head_run = {};
  std::function<absl::StatusOr<RunCost>(int rows, int64_t positions)> cpu_pass = {};
};

enum class Drafting : uint8_t {
  kNone,       // A pass for each token.
  kRecorded,   // The passes of a recording, a step of a drafter before each.
  // By a model of one layer and the head, simulated as in sd.npu's longer version, section 4.1. A token costs one run of this model, and a
  // share of a pass over a full decode graph: the pass divided by the fixed number of tokens that a pass gives.
  kModel,
};

struct RequestSetup {
  SwitchRule rule = SwitchRule::kPadded;      // kPadded: the prefill graph also decodes. Ignored where the CPU decodes.
  int blocks = 1;                             // Graphs that the layers are cut into, each with its own call.
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

// Parts that never overlap: while graphs load during computing, the time counts as computing.
struct RequestParts {
  double prefill = 0;       // Computing on the prompt, in any graph, and its head.
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
  // Rows of these passes: rows that gave a token, rejected drafts, and empty rows.
  double valid_rows = 0, wasted_rows = 0, empty_rows = 0;
};

// Simulates a request. timeline: records events on three tracks. The NPU: blocks of the prompt (kGraphRun) and the layers of a pass (kPass,
// detail: rows that hold a token), attention within them. Flash: loads of blocks (kLoad). The CPU: calibration (kSample), drafting
// (kOperator) and heads (kHead), with passes of the CPU (kPass). May be null.
//
// Errors: InvalidArgument (found, expected) for setups and work out of range; for passes that do not give all tokens, or accept more than
// they drafted; for costs that are negative or not finite; and for a request of more than kMostRequestSeconds. Errors of the costs; the
// error of PlanSwitch.
absl::StatusOr<RequestResult> SimulateRequest(const RequestCosts& costs, const RequestSetup& setup, const RequestWork& work,
                                              Timeline* timeline = nullptr);

// Returns the number of blocks, at most kMostChosenBlocks and the model's layers, with which such a request without drafts ends soonest by
// the setup's rule. A profile of the phone determines this number (sd.npu's longer version, section 3.2, and the RAG version: "the optimal
// partitioning"). Among equals the least. The errors of SimulateRequest.
inline constexpr int kMostChosenBlocks = 12;
absl::StatusOr<int> ChooseBlocks(const RequestCosts& costs, RequestSetup setup, const RequestWork& work);

}  // namespace tessera
