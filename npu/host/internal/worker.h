// One worker's walk through a graph: the worker's rows, panels, heads and queries, and the barriers with other workers.
#pragma once

#include <cstdint>

#include "tessera/base/shared_work.h"
#include "tessera/base/thread_pool.h"
#include "tessera/npu/host/internal/loaded_graph.h"
#include "tessera/npu/host/internal/row_kernels.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/quant/tile_kernels.h"

namespace tessera {

// The kernels of a run: this CPU's fastest, or a phone NPU's arithmetic (npu/hmx/hmx_device.h).
struct HostArithmetic {
  const MatMulKernels& matmul;
  const RowKernels& rows;
  const TileKernels* tiles = nullptr;   // For matrices in tiles. Null: no matrix is in tiles.
  int kv_block = 0;                     // Positions per block of attention in FP16. 0: attention is in FP32.
  HmxExp exp = HmxExp::kTable;          // For attention in FP16.
};

// A run's rows, rounded for the products of one Linear: to groups of 8 or 16 bits for panels, to FP16 for tiles.
struct RoundedRows {
  static int64_t BytesFor(const HostGraph& graph, int64_t rows);

  QuantizedRows groups;
  float* tiles;                // Row r for input i (HostStep::tile_inputs) at tiles + (i * rows + r) * stride.
  int64_t rows, stride;
  float* Tile(int input, int64_t row) const { return tiles + (input * rows + row) * stride; }
};

// Data that all workers of a run share.
struct HostRun {
  const HostGraph& graph;
  const RunArguments& arguments;
  const HostArithmetic& arithmetic;
  ThreadPool& pool;
  std::byte* arena;
  std::byte* rounded;          // RoundedRows of all rows.
  float* inner;                // Products A x of adapters: graph.inners vectors per row; with a single row, per worker.
  int64_t inner_stride;        // Floats from one vector to the next.
  std::byte* scratch;          // workers x scratch_bytes: a single row's buffers, its rounded copy, attention's scores.
  int64_t scratch_bytes;
  TakenParts* taken;           // steps x workers, all 0.
  float* scores;               // Scores of a single row: SharedScores(graph, longest_path) floats.
  int longest_path;            // Positions of the longest path of any row.
};

class Worker {
 public:
  Worker(const HostRun& run, int index);

  // Runs all operators. Every worker of the pool calls Run at the same time.
  void Run();

 private:
  // The parts of a worker's own scratch, in this order.
  std::byte* OwnRow() const { return scratch_; }
  std::byte* OwnRounded() const;
  float* OwnScores() const;

  void ExecuteRows();
  void FetchRows() const;
  void FetchRounded(const Linear& op) const;

  // Operators that work on one row alone.
  void ExecuteRow(const RmsNorm& op, int64_t r);
  void ExecuteRow(const AddBias& op, int64_t r);
  void ExecuteRow(const Add& op, int64_t r);
  void ExecuteRow(const GatedActivation& op, int64_t r);
  void ExecuteRow(const Rope& op, int64_t r);
  void RoundRow(const Linear& op, int64_t r);

  // Operators that workers divide not only by rows, or that end with a barrier.
  void Execute(const Linear& op);
  void Execute(const StoreKeyValue& op);
  void Execute(const Attention& op);
  void Execute(const Embedding& op);

  RoundedRows Rounded(const Linear& op) const;
  // Computes a part of op.products[index]. Shares are passed by reference; PanelSchedule::Multiply gives the reason.
  void Multiply(const Linear& op, int index, const Share& panels, const Share& rows);
  void MultiplyPanels(const Linear& op, int index, const Share& panels, const Share& rows);
  void MultiplyTiles(const Linear& op, int index, const Share& panels, const Share& rows);
  // Returns a row's adapter for a product; null: none.
  const AdapterProduct* AdapterOf(const Product& product, int64_t r) const;
  float* Inner(int inner, int64_t r) const;
  void AdaptDown(const Linear& op, int64_t r);
  void AdaptUp(const Linear& op, int index, const Share& panels, const Share& rows);
  void StoreHead(const StoreKeyValue& op, int64_t row, int head, bool value);
  void AttendShare(const Attention& op, int64_t begin, int64_t end);
  void AttendFewTiles(const Attention& op, int64_t heads, int64_t per_head);
  bool SharesHeads(const Attention& op) const;
  void AttendTogether(const Attention& op);
  template <typename F>
  void ForEachTile(const Attention& op, Share steps, int64_t steps_of_head, F f) const;
  AttentionTile TileOf(const Attention& op, int64_t first, int64_t count) const;

  // Returns row r of a buffer: in the caller's memory, the shared arena, or this worker's own copy of the current row.
  float* RowOf(BufferId buffer, int64_t r) const;
  int64_t StrideOf(BufferId buffer) const;
  int64_t Columns(BufferId buffer) const { return run_.graph.compiled.graph.buffers[buffer].columns; }
  const float* Vector(WeightId weight) const { return reinterpret_cast<const float*>(run_.arguments.weights[weight].data()); }

  const HostRun& run_;
  const int index_;
  const int workers_;
  const bool single_;      // One row: every worker computes the row operators redundantly.
  const Share mine_;       // This worker runs the row operators of these rows.
  std::byte* const scratch_;
  const HostStep* step_ = nullptr;  // The current step.
  TakenParts* taken_ = nullptr;     // For the step's shared operator: one per worker.
  int inner_ = -1;                  // The last A x that a single row has computed in this step.
};

// Returns the number of scores that workers share when they attend from a single row together.
int64_t SharedScores(const HostGraph& graph, int longest_path);

// Returns the scratch bytes of one worker for this graph.
int64_t WorkerScratchBytes(const HostGraph& graph, int longest_path);

}  // namespace tessera
