// Plans where an engine's memory goes: what all of it takes, how a budget is spent, and what is left of that when memory becomes short.
//
//   const MemoryPlanner& planner = engine->planner();                    // after Engine::Open, before weights are read
//   ASSIGN_OR_RETURN(const EngineMemory all, planner.Plan());            // without a budget
//   ASSIGN_OR_RETURN(const BudgetPlan plan, planner.PlanBudget(int64_t{1} << 30));
//   plan.weights.pass_bytes;                                             // read by each pass after the first
//
// Nothing here is allocated or read. Thread-safe (const after construction).
#pragma once

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/model/kv_cache.h"
#include "tessera/runtime/engine/loaded_model.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/storage/pin_plan.h"
#include "tessera/storage/stream_plan.h"

namespace tessera {

// Where an engine's memory goes, in bytes, once a pass has had all its rows and the context is full. Not counted: the program, the
// tokenizer and the file's metadata, a row of logits per session, and what drafting takes.
struct EngineMemory {
  int64_t weights = 0;        // All of them or, where they are streamed, pins and ring.
  int64_t cache = 0;          // Keys and values.
  int64_t graphs = 0;         // The device's scratch.
  int64_t hidden_states = 0;  // Between blocks.
  int64_t exit_map = 0;       // Before the norm of first layers. In a budget's plan it is 0: the process has it already.
  int64_t Total() const { return weights + cache + graphs + hidden_states + exit_map; }
};

// How a memory budget is spent.
struct BudgetPlan {
  int64_t budget = 0;
  int64_t least = 0;          // A budget that works, in the next run too: whole MiB, one or two more than are needed now.
  int64_t process = 0;        // What the process had when this was planned: tokenizer, metadata, the program's own.
  int logit_rows = 0;         // Workload::logit_rows, or fewer if there is no room, or more for logits_of_each.
  int64_t logits = 0;         // The bytes of these rows.
  int64_t drafting = 0;
  int64_t requests = 0;       // Workload::request_bytes.
  int64_t adapters = 0;       // Workload::adapter_room.
  int64_t reserve = 0;        // For what is not counted: stacks, lists of a pass, what an allocator rounds up.
  EngineMemory memory = {};   // With the weights' share.
  StreamPlan weights = {};
  int64_t Total() const { return process + logits + drafting + requests + adapters + reserve + memory.Total(); }
};

class MemoryPlanner {
 public:
  struct Inputs {
    int context = 0;             // Positions.
    int rows = 0;                // Most of a pass.
    KvCache::Options cache = {};
    int64_t graphs = 0;          // As EngineMemory has them.
    int64_t hidden_states = 0;
    std::optional<int64_t> weights = {};   // What they take in any case: graphs hold them. nullopt: all in memory, or streamed by a budget.
    std::optional<int64_t> process = 0;  // As BudgetPlan has it. nullopt: the system does not say.
    PinPolicy pin = PinPolicy::kAuto;
    Workload workload = {};
  };
  // The model must outlive the planner.
  MemoryPlanner(const LoadedModel& model, Inputs inputs) : model_(model), inputs_(std::move(inputs)) {}

  const Inputs& inputs() const { return inputs_; }

  // All weights in memory, or Inputs::weights. The errors of KvCache::BytesFor.
  absl::StatusOr<EngineMemory> Plan() const;
  int64_t logits() const { return inputs_.workload.logit_rows * model_.logit_row_bytes(); }  // Bytes of all rows of the workload.
  int64_t drafting() const;                                                                  // Bytes.
  int64_t requests() const;                                                                  // Bytes.

  // How `budget` bytes would be spent. A model that is not packed cannot be streamed, nor one whose graphs hold its weights: its least
  // budget has room for all of them.
  // ResourceExhausted (found, expected) if the budget is too small; FailedPrecondition if it is not known what the process has.
  absl::StatusOr<BudgetPlan> PlanBudget(int64_t budget) const;

  // What is left of a plan that is carried out if it may take `budget` bytes: fewer pins. `plan` itself if the budget is not smaller.
  // ResourceExhausted (found, expected) below the minimum, which is the plan without pins. A model that is pinned as a whole has no ring:
  // only its embedding table can be released, and only if it is not the head as well.
  absl::StatusOr<BudgetPlan> Shrink(const BudgetPlan& plan, int64_t budget) const;

 private:
  absl::StatusOr<BudgetPlan> WithoutWeights(int64_t budget) const;
  absl::Status TooSmall(const BudgetPlan& plan) const;
  // Gives `plan` more rows of logits at once where a pass then reads less.
  absl::Status PlanLogitRows(const StreamNeeds& needs, BudgetPlan& plan) const;

  const LoadedModel& model_;
  const Inputs inputs_;
};

// Most rows of a pass: `row_capacity` or, if that is 0, kDefaultRowCapacity, and fewer where a pass of that many rows needs more than
// kDefaultScratch bytes; never more than `context`. scratch_of: bytes that passes of so many rows need, or an error, which is passed on.
absl::StatusOr<int> ChooseRows(int row_capacity, int context, absl::FunctionRef<absl::StatusOr<int64_t>(int rows)> scratch_of);

}  // namespace tessera
