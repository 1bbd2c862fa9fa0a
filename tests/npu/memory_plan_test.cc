#include "tessera/npu/memory_plan.h"

#include <limits>
#include <numeric>
#include <string>

#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/compiler.h"
#include "tessera/tests/fakes/decoder_block.h"

namespace tessera {
namespace {

constexpr int kRows = 24;

// Buffers of random width, each written by one operator that reads up to two written before it.
Graph RandomGraph(SeededRandom& random) {
  Graph graph;
  std::vector<BufferId> written = {graph.AddInput("x", 1 + random.Below(100))};
  const int64_t operators = 1 + random.Below(60);
  for (int64_t i = 0; i < operators; ++i) {
    const auto any = [&] { return written[random.Below(static_cast<int64_t>(written.size()))]; };
    const int64_t kind = random.Below(5);
    if (kind == 0) {
      graph.Add(StoreKeyValue{.key = any(), .value = any()});
      continue;
    }
    const int64_t columns = 1 + random.Below(300);
    const BufferId y = random.Below(8) == 0 ? graph.AddOutput("y", columns) : graph.AddScratch("y", columns);
    if (kind == 1) graph.Add(Linear{.x = any(), .products = {{.weight = 0, .y = y}}});
    if (kind == 2) graph.Add(Attention{.query = any(), .y = y});
    if (kind >= 3) graph.Add(Add{.a = any(), .b = any(), .y = y});
    written.push_back(y);
  }
  return graph;
}

absl::StatusOr<MemoryPlan> PlanOf(const Graph& graph) {
  ASSIGN_OR_RETURN(const std::vector<BufferLife> lives, LivesOf(graph, kRows));
  return PlanMemory(lives);
}

int64_t BytesOf(const Graph& graph, BufferId id) { return kRows * RowStride(graph.buffers[id].columns) * 4; }

int64_t ScratchBytes(const Graph& graph) {
  int64_t sum = 0;
  for (size_t id = 0; id < graph.buffers.size(); ++id) {
    if (graph.buffers[id].kind == BufferKind::kScratch) sum += BytesOf(graph, static_cast<BufferId>(id));
  }
  return sum;
}

struct Touches { int first = std::numeric_limits<int>::max(); int last = -1; };

std::vector<Touches> TouchesOf(const Graph& graph) {
  std::vector<Touches> touches(graph.buffers.size());
  for (int i = 0; i < static_cast<int>(graph.operators.size()); ++i) {
    const Access access = AccessOf(graph.operators[i]);
    for (const std::vector<BufferId>& ids : {access.reads, access.writes}) {
      for (const BufferId id : ids) touches[id] = {std::min(touches[id].first, i), std::max(touches[id].last, i)};
    }
  }
  return touches;
}

// There is a barrier between the last use of one buffer and the first use of the other.
bool Separated(const Graph& graph, const Touches& earlier, const Touches& later) {
  for (int i = earlier.last; i < later.first; ++i) {
    if (IsBarrierOperator(graph.operators[i])) return true;
  }
  return false;
}

void ExpectNoClash(const Graph& graph, const MemoryPlan& plan) {
  const std::vector<Touches> touches = TouchesOf(graph);
  for (BufferId a = 0; a < static_cast<BufferId>(graph.buffers.size()); ++a) {
    for (BufferId b = 0; b < a; ++b) {
      if (plan.offsets[a] < 0 || plan.offsets[b] < 0) continue;
      const bool share =
          plan.offsets[a] < plan.offsets[b] + BytesOf(graph, b) && plan.offsets[b] < plan.offsets[a] + BytesOf(graph, a);
      if (!share) continue;
      EXPECT_TRUE(Separated(graph, touches[a], touches[b]) || Separated(graph, touches[b], touches[a]))
          << "buffers " << b << " and " << a << " share bytes";
    }
  }
}

TEST(MemoryPlan, HeaderExample) {
  const Graph graph = DecoderBlock({});
  const auto plan_of = [&]() -> absl::StatusOr<MemoryPlan> {
    ASSIGN_OR_RETURN(std::vector<BufferLife> lives, LivesOf(graph, /*row_capacity=*/512));
    ASSIGN_OR_RETURN(MemoryPlan plan, PlanMemory(lives));
    return plan;
  };
  const absl::StatusOr<MemoryPlan> plan = plan_of();
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<std::byte> memory(plan->arena_bytes);
  std::byte* arena = memory.data();
  const BufferId id = 1;
  std::byte* buffer = arena + plan->offsets[id];
  EXPECT_LT(buffer, arena + plan->arena_bytes);
}

TEST(MemoryPlan, BuffersThatShareBytesAreSeparatedByABarrier) {
  SeededRandom random(30);
  for (int round = 0; round < 300; ++round) {
    const Graph graph = RandomGraph(random);
    const absl::StatusOr<MemoryPlan> plan = PlanOf(graph);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ExpectNoClash(graph, *plan);
    if (HasFailure()) break;
  }
}

TEST(MemoryPlan, EveryScratchBufferHasAnAlignedPlaceInsideTheArena) {
  SeededRandom random(31);
  for (int round = 0; round < 100; ++round) {
    const Graph graph = RandomGraph(random);
    const MemoryPlan plan = *PlanOf(graph);
    ASSERT_EQ(plan.offsets.size(), graph.buffers.size());
    for (size_t id = 0; id < graph.buffers.size(); ++id) {
      if (graph.buffers[id].kind != BufferKind::kScratch) {
        EXPECT_EQ(plan.offsets[id], -1);
        continue;
      }
      EXPECT_GE(plan.offsets[id], 0);
      EXPECT_EQ(plan.offsets[id] % 64, 0);
      EXPECT_LE(plan.offsets[id] + BytesOf(graph, static_cast<BufferId>(id)), plan.arena_bytes);
    }
    EXPECT_LE(plan.arena_bytes, ScratchBytes(graph));
  }
}

TEST(MemoryPlan, DecoderLayersShareMostOfTheirMemory) {
  const Graph one = DecoderBlock({.layers = 1}), eight = DecoderBlock({.layers = 8});
  const MemoryPlan plan_one = *PlanOf(one), plan_eight = *PlanOf(eight);
  ExpectNoClash(eight, plan_eight);
  EXPECT_LT(2 * plan_one.arena_bytes, ScratchBytes(one));
  EXPECT_LT(10 * plan_eight.arena_bytes, ScratchBytes(eight));
}

TEST(MemoryPlan, ABufferLivesUntilTheBarrierAfterItsLastUse) {
  Graph graph;
  const BufferId x = graph.AddInput("x", 16), a = graph.AddScratch("a", 16), b = graph.AddScratch("b", 16);
  const BufferId c = graph.AddScratch("c", 16), unread = graph.AddScratch("unread", 16), out = graph.AddOutput("out", 16);
  graph.Add(Add{.a = x, .b = x, .y = a});                          // 0
  graph.Add(Add{.a = a, .b = x, .y = b});                          // 1: the last use of a
  graph.Add(Add{.a = b, .b = x, .y = unread});                     // 2
  graph.Add(Linear{.x = b, .products = {{.weight = 0, .y = c}}});  // 3: a barrier
  graph.Add(Add{.a = c, .b = c, .y = out});                        // 4: the last use of c, with no barrier after it
  const std::vector<BufferLife> lives = *LivesOf(graph, kRows);
  const auto expect_life = [&](BufferId id, int first, int last) {
    EXPECT_EQ(lives[id].first, first) << graph.buffers[id].name;
    EXPECT_EQ(lives[id].last, last) << graph.buffers[id].name;
    EXPECT_EQ(lives[id].bytes, kRows * 64) << graph.buffers[id].name;
  };
  expect_life(a, 0, 3);
  expect_life(b, 1, 3);
  expect_life(unread, 2, 3);
  expect_life(c, 3, 4);
  EXPECT_EQ(lives[x].bytes, 0);
  EXPECT_EQ(lives[out].bytes, 0);
}

TEST(MemoryPlan, AGapIsFilledBeforeTheArenaGrows) {
  const std::vector<BufferLife> lives = {{256, 0, 9}, {192, 0, 3}, {128, 0, 9}, {192, 4, 9}, {64, 2, 5}};
  const MemoryPlan plan = *PlanMemory(lives);
  EXPECT_EQ(plan.offsets, (std::vector<int64_t>{0, 256, 448, 256, 576}));
  EXPECT_EQ(plan.arena_bytes, 640);
}

TEST(MemoryPlan, SizesThatOverflowAreErrors) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  Graph graph;
  graph.AddScratch("huge", kHuge - 3);
  EXPECT_EQ(LivesOf(graph, 1).status().code(), absl::StatusCode::kOutOfRange);
  graph.buffers[0].columns = kHuge / 4 / 1000;
  EXPECT_EQ(LivesOf(graph, 1001).status().code(), absl::StatusCode::kOutOfRange);
  const BufferLife half = {kHuge / 2 / 64 * 64 + 64, 0, 1};
  EXPECT_EQ(PlanMemory({half, half}).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(MemoryPlan, LivesThatMakeNoSenseAreErrors) {
  EXPECT_EQ(PlanMemory({{-64, 0, 1}}).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status backwards = PlanMemory({{64, 0, 1}, {64, 2, 1}}).status();
  EXPECT_EQ(backwards.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(backwards.message()).find("buffer 1"), std::string::npos);
}

}  // namespace
}  // namespace tessera
