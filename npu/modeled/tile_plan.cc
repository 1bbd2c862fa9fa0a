#include "tessera/npu/modeled/tile_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {

namespace {

constexpr int64_t kTile = 32, kHalfBytes = 2, kMostCount = int64_t{1} << 24;
constexpr int64_t kScalesBytes = 256;   // Column scales and biases of one tile of outputs.
constexpr int kAreas = 7;               // Activations, and two each of packed weights, weights and outputs.

using Holds = TcmArea::Holds;
using Stage = TileStep::Stage;

absl::Status CheckCount(absl::string_view name, int64_t found, int64_t most) {
  if (found >= 1 && found <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tile product: ", name, ": found ", found, ", expected 1 to ", most));
}

int64_t DownToTiles(int64_t count) { return count / kTile * kTile; }

// Returns the areas that the chunks need, for any size of an area.
std::vector<TcmArea> PlaceAreas(const TilePlan& plan, int64_t inputs) {
  const int64_t weights = plan.chunk_columns * inputs * kHalfBytes;
  const int64_t packed = plan.chunk_columns / kTile * (inputs / kTile) * plan.product.tile_bytes;
  const int64_t outputs = plan.chunk_rows * plan.chunk_columns * kHalfBytes;
  std::vector<TcmArea> areas;
  int64_t offset = 0;
  auto place = [&](Holds holds, int64_t bytes, int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      areas.push_back({.holds = holds, .offset = offset, .bytes = bytes, .turn = turn, .turns = turns});
      offset += AlignUp(bytes, kScalesBytes);
    }
  };
  place(Holds::kActivations, plan.chunk_rows * inputs * kHalfBytes, 1);
  place(Holds::kPackedWeights, packed, 2);
  place(Holds::kWeights, weights, 2);
  place(Holds::kOutputs, outputs, 2);
  place(Holds::kScales, kScalesBytes, 1);
  return areas;
}

// One chunk's stages, in seconds.
struct ChunkSeconds { double convert, read, dequantize, multiply, store; };

class Scheduler {
 public:
  Scheduler(const TilePlan& plan, const TileStages& stages, bool keep_steps) : plan_(plan), stages_(stages), keep_steps_(keep_steps) {}

  TileSchedule Run() {
    for (int64_t chunk = 0; chunk < plan_.row_chunks * plan_.column_chunks; ++chunk) {
      if (plan_.four_stages) {
        FourStages(chunk, SecondsOf(chunk));
      } else {
        ThreeStages(chunk, SecondsOf(chunk));
      }
    }
    return std::move(schedule_);
  }

 private:
  ChunkSeconds SecondsOf(int64_t chunk) const {
    const int64_t row_chunk = chunk / plan_.column_chunks, column_chunk = chunk % plan_.column_chunks;
    const auto tiles = [](int64_t all, int64_t step, int64_t index) {
      return static_cast<double>(CeilDiv(std::min(step, all - index * step), kTile));
    };
    const double rows = tiles(plan_.product.rows, plan_.chunk_rows, row_chunk);
    const double columns = tiles(plan_.product.outputs, plan_.chunk_columns, column_chunk);
    const double inputs = static_cast<double>(CeilDiv(plan_.product.inputs, kTile));
    return {.convert = column_chunk == 0 ? rows * inputs * stages_.convert : 0,
            .read = columns * inputs * stages_.read,
            .dequantize = columns * inputs * stages_.dequantize,
            .multiply = rows * columns * inputs * stages_.multiply,
            .store = rows * columns * stages_.store};
  }

  double Place(Stage stage, int64_t chunk, double begin, double seconds) {
    const double end = begin + seconds;
    schedule_.busy[static_cast<size_t>(stage)] += seconds;
    schedule_.seconds = std::max(schedule_.seconds, end);
    if (keep_steps_ && seconds > 0) schedule_.steps.push_back({stage, chunk, begin, end});
    return end;
  }

  // Packed weights have two areas: a read begins when the previous read is over and the chunk before the previous one has been dequantized.
  double Read(int64_t chunk, double seconds) {
    read_end_ = Place(Stage::kRead, chunk, std::max(read_end_, dequantized_[chunk % 2]), seconds);
    return read_end_;
  }

  void ThreeStages(int64_t chunk, const ChunkSeconds& seconds) {
    const double read = Read(chunk, seconds.read);
    const double converted = Place(Stage::kConvert, chunk, stored_[(chunk + 1) % 2], seconds.convert);
    const double dequantized = Place(Stage::kDequantize, chunk, std::max(read, converted), seconds.dequantize);
    dequantized_[chunk % 2] = dequantized;
    const double multiplied = Place(Stage::kMultiply, chunk, dequantized, seconds.multiply);
    stored_[chunk % 2] = Place(Stage::kStore, chunk, multiplied, seconds.store);
  }

  // Schedules four stages. Each stage has two areas to write, so a stage waits for the reader of the chunk before the last. Activations
  // have one area: the storing thread converts activations when all products with the previous rows are over.
  void FourStages(int64_t chunk, const ChunkSeconds& seconds) {
    const int64_t turn = chunk % 2, other = (chunk + 1) % 2;
    const double read = Read(chunk, seconds.read);
    if (seconds.convert > 0) converted_ = Place(Stage::kConvert, chunk, std::max(multiplied_[other], stored_[other]), seconds.convert);
    const double dequantize = std::max({read, dequantized_[other], multiplied_[turn]});
    dequantized_[turn] = Place(Stage::kDequantize, chunk, dequantize, seconds.dequantize);
    const double multiply = std::max({dequantized_[turn], multiplied_[other], stored_[turn], converted_});
    multiplied_[turn] = Place(Stage::kMultiply, chunk, multiply, seconds.multiply);
    stored_[turn] = Place(Stage::kStore, chunk, std::max({multiplied_[turn], stored_[other], converted_}), seconds.store);
  }

  const TilePlan& plan_;
  const TileStages& stages_;
  const bool keep_steps_;
  TileSchedule schedule_;
  double read_end_ = 0, converted_ = 0;
  // When the last chunk of each turn had been dequantized, multiplied and stored.
  std::array<double, 2> dequantized_ = {}, multiplied_ = {}, stored_ = {};
};

}  // namespace

absl::StatusOr<TilePlan> PlanTiles(const TileProduct& product, int64_t tcm_bytes) {
  RETURN_IF_ERROR(CheckCount("rows", product.rows, kMostCount));
  RETURN_IF_ERROR(CheckCount("inputs", product.inputs, kMostTileInputs));
  RETURN_IF_ERROR(CheckCount("outputs", product.outputs, kMostCount));
  RETURN_IF_ERROR(CheckCount("bytes of a tile", product.tile_bytes, kTile * kTile * 4));
  const int64_t inputs = AlignUp(product.inputs, kTile), rows = AlignUp(product.rows, kTile), outputs = AlignUp(product.outputs, kTile);
  TilePlan plan = {.product = product};
  // Equal areas: the memory left for scales is less than one area (of eight).
  const int64_t area = std::max<int64_t>(tcm_bytes, 0) / (kAreas + 1);
  const int64_t lines = area / (kTile * inputs * std::max<int64_t>(kHalfBytes, CeilDiv(product.tile_bytes, kTile * kTile)));
  plan.chunk_rows = std::min(rows, std::max<int64_t>(lines, 1) * kTile);
  plan.chunk_columns = std::min({outputs, std::max<int64_t>(lines, 1) * kTile,
                                 std::max(kTile, DownToTiles(area / kHalfBytes / plan.chunk_rows))});
  plan.row_chunks = CeilDiv(rows, plan.chunk_rows);
  plan.column_chunks = CeilDiv(outputs, plan.chunk_columns);
  plan.four_stages = product.rows >= kFourStageRows && product.inputs <= product.outputs;
  plan.areas = PlaceAreas(plan, inputs);
  const int64_t needed = plan.areas.back().offset + plan.areas.back().bytes;
  if (needed <= tcm_bytes) return plan;
  return absl::ResourceExhaustedError(absl::StrCat("tightly coupled memory: found ", tcm_bytes, " bytes, expected at least ", needed,
                                                   " for ", inputs, " inputs"));
}

TileSchedule ScheduleTiles(const TilePlan& plan, const TileStages& stages, bool keep_steps) {
  return Scheduler(plan, stages, keep_steps).Run();
}

}  // namespace tessera
