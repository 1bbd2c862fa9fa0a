#include "tessera/npu/modeled/tile_plan.h"

#include <algorithm>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr int64_t kTcm = 8 << 20;
constexpr TileStages kStages = {.convert = 1e-8, .read = 3e-8, .dequantize = 5e-8, .multiply = 5e-9, .store = 1e-8};

TEST(TilePlan, HeaderExample) {
  const TilePlan plan = PlanTiles({.rows = 512, .inputs = 1536, .outputs = 8960, .tile_bytes = 576}, kTcm).value();
  const TileSchedule schedule = ScheduleTiles(plan, kStages);
  EXPECT_EQ(plan.chunk_rows, 320);
  EXPECT_GT(schedule.seconds, 0);
}

// The chunks that htp-ops-lib takes for areas of 1 MiB: 320 x 320 for 1536 inputs, 32 columns for 8960.
TEST(TilePlan, HasTheChunksOfThePublishedKernels) {
  const TilePlan narrow = PlanTiles({.rows = 1024, .inputs = 1536, .outputs = 1536, .tile_bytes = 576}, kTcm).value();
  EXPECT_EQ(narrow.chunk_rows, 320);
  EXPECT_EQ(narrow.chunk_columns, 320);
  const TilePlan wide = PlanTiles({.rows = 1024, .inputs = 8960, .outputs = 1536, .tile_bytes = 1088}, kTcm).value();
  EXPECT_EQ(wide.chunk_rows, 32);
  EXPECT_EQ(wide.chunk_columns, 32);
  EXPECT_TRUE(narrow.four_stages);
  EXPECT_FALSE(wide.four_stages) << "more inputs than outputs";
}

// Random products and memories: never over the memory, areas apart from each other, chunks of whole tiles that cover the product.
TEST(TilePlan, AreasFitTheMemoryAndDoNotOverlap) {
  std::mt19937 random(11);
  const auto upto = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  int planned = 0;
  for (int i = 0; i < 3000; ++i) {
    const TileProduct product = {.rows = upto(3000), .inputs = upto(kMostTileInputs), .outputs = upto(20000), .tile_bytes = upto(4096)};
    const int64_t tcm = upto(16 << 20);
    const absl::StatusOr<TilePlan> plan = PlanTiles(product, tcm);
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted) << plan.status();
      continue;
    }
    ++planned;
    int64_t end = 0;
    for (const TcmArea& area : plan->areas) {
      EXPECT_GE(area.offset, end);
      EXPECT_GT(area.bytes, 0);
      end = area.offset + area.bytes;
    }
    EXPECT_LE(end, tcm);
    EXPECT_EQ(plan->chunk_rows % 32, 0);
    EXPECT_EQ(plan->chunk_columns % 32, 0);
    EXPECT_GE(plan->row_chunks * plan->chunk_rows, product.rows);
    EXPECT_LT((plan->row_chunks - 1) * plan->chunk_rows, product.rows);
    EXPECT_GE(plan->column_chunks * plan->chunk_columns, product.outputs);
    EXPECT_LT((plan->column_chunks - 1) * plan->chunk_columns, product.outputs);
  }
  EXPECT_GT(planned, 1000);
}

// What a schedule must be, whatever its rule: a stage does one chunk at a time, a chunk's stages follow one another, and no area is
// written while the chunk before the last still reads it.
void ExpectPossible(const TilePlan& plan, const TileSchedule& schedule) {
  using Stage = TileStep::Stage;
  const int64_t chunks = plan.row_chunks * plan.column_chunks;
  std::vector<std::vector<TileStep>> by_stage(5, std::vector<TileStep>(static_cast<size_t>(chunks)));
  double last = 0;
  for (const TileStep& step : schedule.steps) {
    by_stage[static_cast<size_t>(step.stage)][static_cast<size_t>(step.chunk)] = step;
    last = std::max(last, step.end);
  }
  EXPECT_DOUBLE_EQ(last, schedule.seconds);
  const auto at = [&](Stage stage, int64_t chunk) { return by_stage[static_cast<size_t>(stage)][static_cast<size_t>(chunk)]; };
  constexpr double kSlack = 1e-15;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Stage order[] = {Stage::kRead, Stage::kDequantize, Stage::kMultiply, Stage::kStore};
    for (int s = 0; s < 4; ++s) {
      if (s > 0) {
        EXPECT_GE(at(order[s], chunk).begin + kSlack, at(order[s - 1], chunk).end) << chunk;
      }
      if (chunk > 0) {
        EXPECT_GE(at(order[s], chunk).begin + kSlack, at(order[s], chunk - 1).end) << chunk;
      }
      if (s < 3 && chunk > 1) {
        EXPECT_GE(at(order[s], chunk).begin + kSlack, at(order[s + 1], chunk - 2).end) << chunk;
      }
    }
  }
}

TEST(TileSchedule, EachStageHasOneChunkAndEachAreaOneUse) {
  std::mt19937 random(5);
  const auto upto = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  for (int i = 0; i < 200; ++i) {
    const TileProduct product = {.rows = upto(2500), .inputs = upto(4000), .outputs = upto(6000), .tile_bytes = 576};
    const TilePlan plan = PlanTiles(product, kTcm).value();
    const auto seconds = [&] { return static_cast<double>(upto(100)) * 1e-9; };
    const TileStages stages = {seconds(), seconds(), seconds(), seconds(), seconds()};
    const TileSchedule schedule = ScheduleTiles(plan, stages, /*keep_steps=*/true);
    ExpectPossible(plan, schedule);
    double sum = 0;
    for (const double busy : schedule.busy) {
      EXPECT_LE(busy, schedule.seconds * (1 + 1e-12));
      sum += busy;
    }
    EXPECT_LE(schedule.seconds, sum * (1 + 1e-12)) << "nothing waits for nothing";
    EXPECT_EQ(ScheduleTiles(plan, stages).seconds, schedule.seconds);
  }
}

// One chunk after the other: the first read, then the slower of the next read and what the vector and the matrix unit do (htp-ops-lib's
// short way).
TEST(TileSchedule, ReadsTheNextChunkWhileOneIsComputed) {
  const TilePlan plan = PlanTiles({.rows = 32, .inputs = 8960, .outputs = 128, .tile_bytes = 1088}, kTcm).value();
  ASSERT_EQ(plan.column_chunks, 4);
  const double tiles = 8960 / 32, read = tiles * 3, computed = tiles * (5 + 1) + 2;   // In microseconds below.
  const TileStages stages = {.convert = 0, .read = 3e-6, .dequantize = 5e-6, .multiply = 1e-6, .store = 2e-6};
  EXPECT_NEAR(ScheduleTiles(plan, stages).seconds * 1e6, read + 4 * computed, 1e-6);
  const TileStages slow_read = {.convert = 0, .read = 9e-6, .dequantize = 5e-6, .multiply = 1e-6, .store = 2e-6};
  EXPECT_NEAR(ScheduleTiles(plan, slow_read).seconds * 1e6, 4 * tiles * 9 + computed, 1e-6);
}

TEST(TilePlan, AProductThatDoesNotFitNamesTheLeastMemory) {
  const TileProduct product = {.rows = 1, .inputs = 16384, .outputs = 32, .tile_bytes = 576};
  // 1 MiB of activations, two of 288 KiB and two of 1 MiB of weights, two of 2 KiB of outputs, 256 bytes of scales.
  const int64_t least = 3 * (1 << 20) + 2 * 16384 / 32 * 576 + 2 * 2048 + 256;
  const absl::Status none = PlanTiles(product, 1 << 20).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(none.message(),
            absl::StrCat("tightly coupled memory: found 1048576 bytes, expected at least ", least, " for 16384 inputs"));
  EXPECT_TRUE(PlanTiles(product, least).ok());
  EXPECT_FALSE(PlanTiles(product, least - 1).ok());
  EXPECT_TRUE(PlanTiles({.rows = 64, .inputs = 18944, .outputs = 3584, .tile_bytes = 1088}, kTcm).ok()) << "as Qwen 2.5 7B has it";
  EXPECT_EQ(PlanTiles({.rows = 1, .inputs = 32769, .outputs = 1, .tile_bytes = 576}, kTcm).status().message(),
            "tile product: inputs: found 32769, expected 1 to 32768");
  EXPECT_FALSE(PlanTiles({.rows = 0, .inputs = 1, .outputs = 1, .tile_bytes = 1}, kTcm).ok());
  EXPECT_FALSE(PlanTiles({.rows = 1, .inputs = 1, .outputs = -1, .tile_bytes = 1}, kTcm).ok());
  EXPECT_FALSE(PlanTiles({.rows = 1, .inputs = 1, .outputs = 1, .tile_bytes = 0}, -5).ok());
}

}  // namespace
}  // namespace tessera
