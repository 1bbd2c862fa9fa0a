#include "tessera/npu/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/compiler.h"

namespace tessera {
namespace {

constexpr int64_t kAlignment = 64;

absl::StatusOr<int64_t> BufferBytes(int64_t columns, int row_capacity) {
  ASSIGN_OR_RETURN(const int64_t stride, CheckedAlignUp(columns, RowStride(1)));
  ASSIGN_OR_RETURN(const int64_t row_bytes, CheckedMul(stride, sizeof(float)));
  return CheckedMul(row_capacity, row_bytes);
}

// Returns for each operator the next barrier operator (possibly the operator itself), or the last operator of the graph.
std::vector<int> NextBarriers(const std::vector<Operator>& operators) {
  std::vector<int> next(operators.size());
  int barrier = static_cast<int>(operators.size()) - 1;
  for (int i = barrier; i >= 0; --i) {
    if (IsBarrierOperator(operators[i])) barrier = i;
    next[i] = barrier;
  }
  return next;
}

absl::Status CheckLives(absl::Span<const BufferLife> lives) {
  for (size_t i = 0; i < lives.size(); ++i) {
    const BufferLife& life = lives[i];
    if (life.bytes >= 0 && life.first <= life.last) continue;
    return absl::InvalidArgumentError(absl::StrCat("buffer ", i, ": found ", life.bytes, " bytes from operator ", life.first,
                                                   " to ", life.last, ", expected bytes >= 0 and first <= last"));
  }
  return absl::OkStatus();
}

std::vector<int> LargestFirst(absl::Span<const BufferLife> lives) {
  std::vector<int> order(lives.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lives[a].bytes > lives[b].bytes; });
  return order;
}

struct Placed { int64_t begin; int64_t end; int id; };

// Finds the lowest gap of `bytes` between the buffers in `placed` (ascending by begin) that live at the same time as `life`.
absl::StatusOr<Placed> FirstFit(const std::vector<Placed>& placed, absl::Span<const BufferLife> lives, int id) {
  const BufferLife& life = lives[id];
  ASSIGN_OR_RETURN(const int64_t bytes, CheckedAlignUp(life.bytes, kAlignment));
  int64_t begin = 0;
  for (const Placed& other : placed) {
    if (lives[other.id].last < life.first || life.last < lives[other.id].first) continue;
    if (other.begin >= begin && other.begin - begin >= bytes) break;
    begin = std::max(begin, other.end);
  }
  ASSIGN_OR_RETURN(const int64_t end, CheckedAdd(begin, bytes));
  return Placed{begin, end, id};
}

}  // namespace

bool IsBarrierOperator(const Operator& op) {
  return std::holds_alternative<Linear>(op) || std::holds_alternative<StoreKeyValue>(op) || std::holds_alternative<Attention>(op);
}

absl::StatusOr<std::vector<BufferLife>> LivesOf(const Graph& graph, int row_capacity) {
  std::vector<BufferLife> lives(graph.buffers.size(), {.first = -1});
  const std::vector<int> next_barrier = NextBarriers(graph.operators);
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Access access = AccessOf(graph.operators[i]);
    for (const BufferId id : access.writes) {
      if (lives[id].first < 0) lives[id].first = static_cast<int>(i);
      lives[id].last = next_barrier[i];
    }
    for (const BufferId id : access.reads) lives[id].last = next_barrier[i];
  }
  for (size_t id = 0; id < lives.size(); ++id) {
    if (graph.buffers[id].kind == BufferKind::kScratch) {
      ASSIGN_OR_RETURN(const int64_t bytes, BufferBytes(graph.buffers[id].columns, row_capacity));
      lives[id].bytes = lives[id].first < 0 ? 0 : bytes;   // The compiler has removed the buffer's writer.
    }
    lives[id].first = std::max(lives[id].first, 0);
  }
  return lives;
}

absl::StatusOr<MemoryPlan> PlanMemory(absl::Span<const BufferLife> lives) {
  RETURN_IF_ERROR(CheckLives(lives));
  MemoryPlan plan = {.offsets = std::vector<int64_t>(lives.size(), -1)};
  std::vector<Placed> placed;
  for (const int id : LargestFirst(lives)) {
    if (lives[id].bytes == 0) continue;
    ASSIGN_OR_RETURN(const Placed place, FirstFit(placed, lives, id));
    const auto after = [](const Placed& a, const Placed& b) { return a.begin < b.begin; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), place, after), place);
    plan.offsets[id] = place.begin;
    plan.arena_bytes = std::max(plan.arena_bytes, place.end);
  }
  return plan;
}

}  // namespace tessera
