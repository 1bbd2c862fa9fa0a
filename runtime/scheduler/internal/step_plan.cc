#include "tessera/runtime/scheduler/internal/step_plan.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr size_t kLookAgain = 16;

// Returns the most rows and the largest depth of a draft, the root included, within the stream's remaining context.
TreeRoom RoomOf(const EngineCore& core, const Stream& stream, const StepLimits& limits) {
  const int left = std::min(core.context() - stream.text().length(), limits.draft_rows);
  return {.rows = std::min({left, core.runner().row_capacity(), core.logits_at_once()}), .depth = left - 1};
}

// Returns the rows left for trees. One row is kept for a prompt, so that no prompt waits for ever. A pass with a single row goes to the
// stream whose turn it is.
int RowsOfTrees(const EngineCore& core, absl::Span<Stream* const> streams, size_t turn) {
  const int capacity = core.runner().row_capacity();
  const auto reads = [](const Stream* stream) { return stream->pending() > 0; };
  if (capacity == 1) return reads(streams[turn % streams.size()]) ? 0 : 1;
  return std::any_of(streams.begin(), streams.end(), reads) ? capacity - 1 : capacity;
}

// Gives forecasts the rows that trees leave, stream by stream.
void PlanForecasts(absl::Span<Stream* const> streams, int capacity, const StepLimits& limits, StepPlan& plan) {
  const int before = plan.rows();
  for (StepPart& part : plan.parts) {
    const int others = plan.rows() - part.rows();
    streams[part.stream]->AddForecasts(std::min(limits.draft_rows, capacity - others), part.choice);
  }
  const int after = plan.rows();
  if (after == before) return;
  for (StepPart& part : plan.parts) part.choice.beside.rows = after - part.rows();
}

// Shares rows among the decoding streams by expected tokens. If there are more streams than rows, some streams wait a turn.
void PlanTrees(const EngineCore& core, absl::Span<Stream* const> streams, const CostProfile& costs, const StepLimits& limits,
               StepPlan& plan) {
  const int capacity = RowsOfTrees(core, streams, limits.turn);
  std::vector<TreeToCut> trees;
  for (size_t i = 0; i < streams.size(); ++i) {
    const int number = static_cast<int>((limits.turn + i) % streams.size());
    Stream& stream = *streams[number];
    if (stream.pending() > 0 || stream.paused() || static_cast<int>(trees.size()) == capacity) continue;
    const TokenTree& draft = stream.Draft(RoomOf(core, stream, limits));
    trees.push_back(stream.ToCut(draft));
    plan.parts.push_back({.stream = number});
  }
  std::vector<RowChoice> choices = ShareRows(trees, costs, {.most_rows = capacity});
  for (size_t i = 0; i < choices.size(); ++i) plan.parts[i].choice = std::move(choices[i]);
  PlanForecasts(streams, capacity, limits, plan);
}

// Adds prompt chunks in the order of arrival, so that the first prompt is finished as soon as possible.
void PlanChunks(absl::Span<Stream* const> streams, int most, StepPlan& plan) {
  for (size_t number = 0; number < streams.size() && most > 0; ++number) {
    const int chunk = std::min(streams[number]->pending(), most);
    if (chunk > 0) plan.parts.push_back({.stream = static_cast<int>(number), .chunk = chunk});
    most -= chunk;
  }
}

// Returns the most rows of prompt chunks. Until the cost of a pass without prompts is known, every other pass has no prompt. Later, one
// pass in kLookAgain has no prompt, since sequences grow longer.
int MostChunks(const StepPlan& plan, int left, const CostProfile& costs, const StepLimits& limits) {
  if (plan.parts.empty()) return left;
  left = std::min(left, CostProfile::kMostRows - plan.rows());   // The cost of more rows is not known.
  const bool looks_again = limits.turn % kLookAgain == kLookAgain - 1;
  if (costs.PassSeconds(plan.shape()) > 0 && looks_again) return 0;
  if (costs.PassSeconds(plan.shape()) > 0) return PromptRows(plan.shape(), costs, {.most_rows = left, .most_gap = limits.most_gap});
  return limits.turn % 2 == 0 ? 0 : left;
}

}  // namespace

int StepPlan::rows() const {
  int rows = 0;
  for (const StepPart& part : parts) rows += part.rows();
  return rows;
}

int StepPlan::prompt_rows() const {
  int rows = 0;
  for (const StepPart& part : parts) rows += part.chunk;
  return rows;
}

CostProfile::Shape StepPlan::shape() const {
  CostProfile::Shape shape = {.rows = 0, .leaves = 0, .texts = 0};
  for (const StepPart& part : parts) {
    if (part.chunk > 0) continue;
    shape.rows += part.choice.shape().rows;
    shape.leaves += part.choice.leaves;
    shape.texts += 1;
  }
  return shape;
}

void StepPlan::Shrink(int rows) {
  int chunks = std::max(0, rows - (this->rows() - prompt_rows()));
  for (StepPart& part : parts) {
    if (part.chunk == 0) continue;
    part.chunk = std::min(part.chunk, chunks);
    chunks -= part.chunk;
    if (part.chunk == 0) part.stream = -1;   // The chunk is empty.
  }
  std::erase_if(parts, [](const StepPart& part) { return part.stream < 0; });
  if (this->rows() <= rows) return;
  const int others = static_cast<int>(parts.size()) - 1;   // No chunk is left.
  for (StepPart& part : parts) part.choice = {.beside = {.rows = others, .leaves = others, .texts = others}};
}

StepPlan PlanStep(const EngineCore& core, absl::Span<Stream* const> streams, const CostProfile& costs, const StepLimits& limits) {
  StepPlan plan;
  PlanTrees(core, streams, costs, limits, plan);
  const int left = core.runner().row_capacity() - plan.rows();
  PlanChunks(streams, std::min(MostChunks(plan, left, costs, limits), core.prompt_rows()), plan);
  return plan;
}

}  // namespace tessera
