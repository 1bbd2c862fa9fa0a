// How a product of matrices is cut for a matrix unit that works in tightly coupled memory: chunks, places, and a schedule of stages.
//
//   ASSIGN_OR_RETURN(const TilePlan plan, PlanTiles({.rows = 512, .inputs = 1536, .outputs = 8960, .tile_bytes = 576}, tcm_bytes));
//   const TileSchedule schedule = ScheduleTiles(plan, {.read = 1e-9, .dequantize = 2e-9, ...});     // seconds per tile of each stage
//   Print(plan.chunk_rows, plan.chunk_columns, schedule.seconds);
//
// As htp-ops-lib does it (paper 001, section 6): weights come by DMA, packed; the vector unit makes FP16 tiles of them; the matrix unit
// multiplies; the vector unit stores outputs. A chunk is chunk_rows rows by chunk_columns outputs, over all inputs. While one chunk is
// computed, the next one's weights come (double buffering). Long prompts run four stages side by side, each on the chunk behind the one
// before it. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// One product: [rows, inputs] x [inputs, outputs]. Rows, inputs and outputs are padded to whole tiles of 32.
struct TileProduct {
  int64_t rows = 0, inputs = 0, outputs = 0;
  int64_t tile_bytes = 0;   // 32 x 32 weights, as they lie in DDR.
};

// A place in tightly coupled memory. Chunks use it by turns: chunk c uses those whose turn is c modulo `turns`.
struct TcmArea {
  enum class Holds : uint8_t { kActivations, kPackedWeights, kWeights, kOutputs, kScales };
  Holds holds = Holds::kActivations;
  int64_t offset = 0, bytes = 0;
  int turn = 0, turns = 1;
};

struct TilePlan {
  TileProduct product = {};
  int64_t chunk_rows = 0, chunk_columns = 0;    // Multiples of 32.
  int64_t row_chunks = 0, column_chunks = 0;    // All columns of a chunk of rows, then the next rows: weights come once per row chunk.
  bool four_stages = false;                     // Rows >= 1024 and inputs <= outputs, as htp-ops-lib decides.
  std::vector<TcmArea> areas = {};              // In order of offset; none overlap.
};

// Up to 16384 inputs the areas are equal, as htp-ops-lib has them (in 8 MiB, 32 rows then fill one); beyond, chunks are one tile high and
// wide, and areas as large as those need.
inline constexpr int64_t kMostTileInputs = 32768;
inline constexpr int64_t kFourStageRows = 1024;

// InvalidArgument (found, expected) for counts below 1 or above 2^24, or more inputs than kMostTileInputs; ResourceExhausted with the least
// memory that would do, if not even one tile's row and column fit (a multiple of 256 bytes).
absl::StatusOr<TilePlan> PlanTiles(const TileProduct& product, int64_t tcm_bytes);

// Seconds that each stage takes, per tile of what it works on.
struct TileStages {
  double convert = 0;      // A tile of activations, FP32 to FP16.
  double read = 0;         // A tile of weights, by DMA.
  double dequantize = 0;   // A tile of weights.
  double multiply = 0;     // A product of two tiles.
  double store = 0;        // A tile of outputs.
};

// What is under way when, in order of begin, for the chunk `chunk` = row chunk * column_chunks + column chunk.
struct TileStep {
  enum class Stage : uint8_t { kConvert, kRead, kDequantize, kMultiply, kStore };
  Stage stage = Stage::kConvert;
  int64_t chunk = 0;
  double begin = 0, end = 0;   // Seconds since the product began.
};

struct TileSchedule {
  double seconds = 0;
  double busy[5] = {};                 // Seconds of work, by TileStep::Stage.
  std::vector<TileStep> steps = {};    // Only where asked for.
};

// Three stages: the read of the next chunk goes on while one is dequantized, multiplied and stored, one after the other. Four: each stage
// begins a chunk when it has ended the one before, the stage before has ended this chunk, and the area it writes is no longer read.
TileSchedule ScheduleTiles(const TilePlan& plan, const TileStages& stages, bool keep_steps = false);

}  // namespace tessera
