// Plans an engine's memory: the use of each part, the spending of a budget, and a smaller plan when memory becomes short.
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

// An engine's memory in bytes, once a pass has had all rows and the context is full. Not counted: the program, the tokenizer and the file's
// metadata, a row of logits per session, and the memory for drafting.
struct EngineMemory {
  int64_t weights = 0;        // All weights; if streamed, pinned weights and the ring.
  int64_t cache = 0;          // Keys and values.
  int64_t graphs = 0;         // Scratch memory of the device.
  int64_t hidden_states = 0;  // Hidden states between blocks.
  int64_t exit_map = 0;       // Map before the norm of first layers. 0 in a budget's plan: `process` includes the map.
  int64_t Total() const { return weights + cache + graphs + hidden_states + exit_map; }
};

// The spending of a memory budget.
struct BudgetPlan {
  int64_t budget = 0;
  int64_t least = 0;          // A budget that also works in the next run: whole MiB, one or two more than are needed now.
  int64_t process = 0;        // The process's memory at planning: tokenizer, metadata, the program's own memory.
  int logit_rows = 0;         // Workload::logit_rows, or fewer without room, or more for logits_of_each.
  int64_t logits = 0;         // Bytes of logit_rows rows.
  int64_t drafting = 0;
  int64_t requests = 0;       // Workload::request_bytes.
  int64_t adapters = 0;       // Workload::adapter_room.
  int64_t reserve = 0;        // For the rest: stacks, lists of a pass, an allocator's rounding.
  EngineMemory memory = {};   // Includes the share of weights.
  StreamPlan weights = {};
  int64_t Total() const { return process + logits + drafting + requests + adapters + reserve + memory.Total(); }
};

class MemoryPlanner {
 public:
  struct Inputs {
    int context = 0;             // Positions.
    int rows = 0;                // Most rows of a pass.
    KvCache::Options cache = {};
    int64_t graphs = 0;          // EngineMemory::graphs.
    int64_t hidden_states = 0;
    // Fixed bytes of weights, as graphs hold the weights. nullopt: all weights in memory, or streamed under a budget.
    std::optional<int64_t> weights = {};
    std::optional<int64_t> process = 0;  // BudgetPlan::process. nullopt: the system does not say.
    PinPolicy pin = PinPolicy::kAuto;
    Workload workload = {};
  };
  // The model must outlive the planner.
  MemoryPlanner(const LoadedModel& model, Inputs inputs) : model_(model), inputs_(std::move(inputs)) {}

  const Inputs& inputs() const { return inputs_; }

  // Plans all weights in memory, or Inputs::weights. Returns the errors of KvCache::BytesFor.
  absl::StatusOr<EngineMemory> Plan() const;
  int64_t logits() const { return inputs_.workload.logit_rows * model_.logit_row_bytes(); }  // Bytes of all rows of the workload.
  int64_t drafting() const;                                                                  // Bytes.
  int64_t requests() const;                                                                  // Bytes.

  // Plans the spending of `budget` bytes. A model is not streamed if it is not packed, or if graphs hold the weights. The least budget then
  // has room for all weights.
  // ResourceExhausted (found, expected) if the budget is too small. FailedPrecondition if the process's memory is unknown.
  absl::StatusOr<BudgetPlan> PlanBudget(int64_t budget) const;

  // Shrinks a plan that is carried out to `budget` bytes by pinning less. Returns `plan` itself if the budget is not smaller.
  // ResourceExhausted (found, expected) below the minimum, which is the plan without pins. A model that is pinned as a whole has no ring:
  // only the embedding table can be released, and only if the head is another table.
  absl::StatusOr<BudgetPlan> Shrink(const BudgetPlan& plan, int64_t budget) const;

 private:
  absl::StatusOr<BudgetPlan> WithoutWeights(int64_t budget) const;
  absl::Status TooSmall(const BudgetPlan& plan) const;
  // Gives `plan` more rows of logits at once if a pass then reads less.
  absl::Status PlanLogitRows(const StreamNeeds& needs, BudgetPlan& plan) const;

  const LoadedModel& model_;
  const Inputs inputs_;
};

// Returns the most rows of a pass: `row_capacity` or, if that is 0, kDefaultRowCapacity. The default is lowered if a pass needs more than
// kDefaultScratch bytes. Never more than `context`. scratch_of: returns the bytes that passes of `rows` rows need, or an error, which is
// passed on.
absl::StatusOr<int> ChooseRows(int row_capacity, int context, absl::FunctionRef<absl::StatusOr<int64_t>(int rows)> scratch_of);

}  // namespace tessera
