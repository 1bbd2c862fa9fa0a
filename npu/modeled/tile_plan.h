// Cuts a product of matrices for a matrix unit with tightly coupled memory: into chunks, places in memory, and a schedule of stages.
//
//   ASSIGN_OR_RETURN(const TilePlan plan, PlanTiles({.rows = 512, .inputs = 1536, .outputs = 8960, .tile_bytes = 576}, tcm_bytes));
//   const TileSchedule schedule = ScheduleTiles(plan, {.read = 1e-9, .dequantize = 2e-9, ...});     // seconds per tile of each stage
//   Print(plan.chunk_rows, plan.chunk_columns, schedule.seconds);
//
// The method of htp-ops-lib (the test-time scaling paper, section 6): packed weights come by DMA, and the vector unit turns the weights
// into FP16 tiles. The matrix unit multiplies; the vector unit stores outputs. A chunk is chunk_rows rows by chunk_columns outputs, over
// all inputs. While one chunk is computed, the weights of the next chunk come (double buffering). Long prompts run four stages side by
// side, each stage one chunk behind the stage before.
//
// Threads: thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// One product: [rows, inputs] x [inputs, outputs]. Rows, inputs and outputs are padded to whole tiles of 32.
struct TileProduct {
  int64_t rows = 0, inputs = 0, outputs = 0;
  int64_t tile_bytes = 0;   // Bytes of 32 x 32 weights in DDR.
};

// An area of tightly coupled memory. Chunks use areas by turns: chunk c uses the areas whose turn is c modulo `turns`.
struct TcmArea {
  enum class Holds : uint8_t { kActivations, kPackedWeights, kWeights, kOutputs, kScales };
  Holds holds = Holds::kActivations;
  int64_t offset = 0, bytes = 0;
  int turn = 0, turns = 1;
};

struct TilePlan {
  TileProduct product = {};
  int64_t chunk_rows = 0, chunk_columns = 0;    // Multiples of 32.
  int64_t row_chunks = 0, column_chunks = 0;    // All columns of a chunk of rows, then the next rows: weights are read once per row chunk.
  bool four_stages = false;                     // Rows >= 1024 and inputs <= outputs, the rule of htp-ops-lib.
  std::vector<TcmArea> areas = {};              // In order of offset; none overlap.
};

// Up to 16384 inputs the areas are equal, as in htp-ops-lib (in 8 MiB, 32 rows then fill an area). With more inputs, chunks are one tile
// high and wide, and areas have the sizes that such chunks need.
inline constexpr int64_t kMostTileInputs = 32768;
inline constexpr int64_t kFourStageRows = 1024;

// Plans a product. Errors: InvalidArgument (found, expected) for counts below 1 or above 2^24, or more inputs than kMostTileInputs.
// ResourceExhausted with the least sufficient memory (a multiple of 256 bytes), if not even one tile's row and column fit.
absl::StatusOr<TilePlan> PlanTiles(const TileProduct& product, int64_t tcm_bytes);

// Seconds of each stage, per tile of the stage's work.
struct TileStages {
  double convert = 0;      // A tile of activations, FP32 to FP16.
  double read = 0;         // A tile of weights, by DMA.
  double dequantize = 0;   // A tile of weights.
  double multiply = 0;     // A product of two tiles.
  double store = 0;        // A tile of outputs.
};

// One stage's work on one chunk, in order of begin; `chunk` = row chunk * column_chunks + column chunk.
struct TileStep {
  enum class Stage : uint8_t { kConvert, kRead, kDequantize, kMultiply, kStore };
  Stage stage = Stage::kConvert;
  int64_t chunk = 0;
  double begin = 0, end = 0;   // Seconds since the product began.
};

struct TileSchedule {
  double seconds = 0;
  double busy[5] = {};                 // Seconds of work, by TileStep::Stage.
  std::vector<TileStep> steps = {};    // Filled only if keep_steps.
};

// Schedules the stages of all chunks. Three stages: the next chunk is read while the present chunk is dequantized, multiplied and stored,
// one after the other. Four stages: a stage begins a chunk when three conditions hold. The stage has ended the previous chunk, the stage
// before has ended this chunk, and the area that the stage writes is no longer read.
TileSchedule ScheduleTiles(const TilePlan& plan, const TileStages& stages, bool keep_steps = false);

}  // namespace tessera
