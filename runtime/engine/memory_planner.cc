#include "tessera/runtime/engine/memory_planner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/pass_runner.h"
#include "tessera/runtime/engine/weight_plan.h"

namespace tessera {
namespace {

constexpr int kRowStep = 32;
// With fewer rows, prompts would take notably longer; the scratch of this many rows is always accepted.
constexpr int kLeastRows = 64;
constexpr int64_t kReserve = int64_t{8} << 20;
constexpr int64_t kMiB = int64_t{1} << 20;

}  // namespace

absl::StatusOr<EngineMemory> MemoryPlanner::Plan() const {
  ASSIGN_OR_RETURN(const int64_t cache, KvCache::BytesFor(inputs_.cache));
  return EngineMemory{.weights = inputs_.weights.value_or(model_.layout().TotalBytes()),
                      .cache = cache,
                      .graphs = inputs_.graphs,
                      .hidden_states = inputs_.hidden_states,
                      .exit_map = model_.exit_map_bytes()};
}

int64_t MemoryPlanner::drafting() const {
  const auto& bytes = inputs_.workload.drafting_bytes;
  return bytes == nullptr ? 0 : bytes(inputs_.context, model_.config().vocabulary);
}

int64_t MemoryPlanner::requests() const {
  const auto& bytes = inputs_.workload.request_bytes;
  return bytes == nullptr ? 0 : bytes(inputs_.context);
}

// Plans everything except weights, with the fewest rows of logits that are allowed.
absl::StatusOr<BudgetPlan> MemoryPlanner::WithoutWeights(int64_t budget) const {
  const Workload& workload = inputs_.workload;
  const int most = workload.logit_rows, least = workload.least_logit_rows > 0 ? std::min(workload.least_logit_rows, most) : most;
  if (!inputs_.process.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(model_.file().path(), ": memory budget: found no /proc/self/status, which says what "
                                                      "the program has, expected it"));
  }
  BudgetPlan plan = {.budget = budget, .process = *inputs_.process, .logit_rows = least, .logits = least * model_.logit_row_bytes(),
                     .drafting = drafting(), .requests = requests(), .adapters = workload.adapter_room, .reserve = kReserve};
  ASSIGN_OR_RETURN(plan.memory, Plan());
  plan.memory.weights = plan.memory.exit_map = 0;   // The map was read as the model was opened.
  return plan;
}

absl::Status MemoryPlanner::TooSmall(const BudgetPlan& plan) const {
  const int all = inputs_.cache.slots - inputs_.workload.reserved_slots;
  const std::string shared = all < inputs_.context + KvView::kSlotsPerBlock ? "" : absl::StrCat(", and of ", all, " for all texts,");
  const char* less = model_.file().packed() != nullptr ? "" : " (less once it is packed, and so streamed)";
  const std::string found = absl::StrCat(model_.file().path(), ": found ", FormatByteSize(plan.budget), ", expected at least ",
                                         plan.least / kMiB, " MiB", less, ", of which keys and values for a context of ", inputs_.context,
                                         " tokens", shared, " take ", FormatByteSize(plan.memory.cache));
  return ForField("memory_budget", LimitedBy("context", absl::ResourceExhaustedError(found)));
}

absl::StatusOr<BudgetPlan> MemoryPlanner::PlanBudget(int64_t budget) const {
  ASSIGN_OR_RETURN(BudgetPlan plan, WithoutWeights(budget));
  const StreamNeeds needs = WeightNeedsOf(model_.config(), model_.layout());
  const bool streams = model_.file().packed() != nullptr && !inputs_.weights.has_value();
  const int64_t held = inputs_.weights.value_or(needs.total_bytes), row_bytes = model_.logit_row_bytes();
  const int64_t needed = plan.Total() + (streams ? LeastStreamBytes(needs) : held);
  plan.least = AlignUp(needed + kMiB, kMiB);  // A process's own memory differs a little from run to run.
  if (budget < needed) return TooSmall(plan);
  plan.logit_rows += static_cast<int>(std::min<int64_t>(inputs_.workload.logit_rows - plan.logit_rows, (budget - needed) / row_bytes));
  plan.logits = plan.logit_rows * row_bytes;
  if (!streams) {
    plan.memory.weights = held;
    return plan;
  }
  ASSIGN_OR_RETURN(plan.weights, PlanStreaming(needs, budget - plan.Total(), inputs_.pin));
  plan.memory.weights = plan.weights.bytes;
  if (inputs_.workload.logits_of_each) RETURN_IF_ERROR(PlanLogitRows(needs, plan));
  return plan;
}

absl::Status MemoryPlanner::PlanLogitRows(const StreamNeeds& needs, BudgetPlan& plan) const {
  const auto bytes_of_pass = [&](const StreamPlan& weights, int at_once) {
    return BytesOfPass(needs, weights, static_cast<int>(CeilDiv(inputs_.rows, at_once)));
  };
  const int fewest = std::max(plan.logit_rows - 1, 1);
  const int64_t row_bytes = model_.logit_row_bytes(), fewest_bytes = plan.logits;
  const int64_t room = plan.budget - plan.Total() + plan.memory.weights;
  int64_t least = bytes_of_pass(plan.weights, fewest);
  for (int rows = 2 * fewest; rows < 2 * inputs_.rows; rows *= 2) {
    const int at_once = std::min(rows, inputs_.rows);
    const int64_t more = (at_once - fewest) * row_bytes;
    if (room - more < LeastStreamBytes(needs)) break;
    ASSIGN_OR_RETURN(StreamPlan weights, PlanStreaming(needs, room - more, inputs_.pin));
    const int64_t bytes = bytes_of_pass(weights, at_once);
    if (bytes >= least) continue;
    least = bytes;
    plan.logit_rows = at_once + 1;
    plan.logits = fewest_bytes + more;
    plan.weights = std::move(weights);
  }
  plan.memory.weights = plan.weights.bytes;
  return absl::OkStatus();
}

absl::StatusOr<BudgetPlan> MemoryPlanner::Shrink(const BudgetPlan& plan, int64_t budget) const {
  const StreamNeeds needs = WeightNeedsOf(model_.config(), model_.layout());
  const int64_t others = plan.Total() - plan.memory.weights, least = others + LeastShrunkBytes(needs, plan.weights);
  if (budget < least) {
    return absl::ResourceExhaustedError(absl::StrCat("less memory: ", model_.file().path(), ": found ", FormatByteSize(budget),
                                                     ", expected at least ", CeilDiv(least, kMiB), " MiB"));
  }
  BudgetPlan shrunk = plan;
  ASSIGN_OR_RETURN(shrunk.weights, ShrinkStreaming(needs, plan.weights, budget - others, inputs_.pin));
  shrunk.memory.weights = shrunk.weights.bytes;
  shrunk.budget = std::min(plan.budget, budget);
  return shrunk;
}

absl::StatusOr<int> ChooseRows(int row_capacity, int context, absl::FunctionRef<absl::StatusOr<int64_t>(int rows)> scratch_of) {
  int rows = std::min(row_capacity > 0 ? row_capacity : kDefaultRowCapacity, context);
  while (true) {
    ASSIGN_OR_RETURN(const int64_t scratch, scratch_of(rows));
    if (row_capacity > 0 || rows <= kLeastRows || scratch <= kDefaultScratch) return rows;
    const int64_t fitting = rows * kDefaultScratch / scratch / kRowStep * kRowStep;
    // Graphs have at most kRowsTogether rows. With more rows than that, little of the scratch belongs to the graphs.
    rows = rows > kRowsTogether ? kRowsTogether : std::max<int>(kLeastRows, static_cast<int>(std::min<int64_t>(fitting, rows - kRowStep)));
  }
}

}  // namespace tessera
