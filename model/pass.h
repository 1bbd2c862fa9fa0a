// A pass of rows through a model's layers. The owner walks the pass: to any layer, to read hidden states and drop rows there, and to the
// end.
//
//   ASSIGN_OR_RETURN(Pass pass, runner->Begin(rows, *cache));             // model/pass_runner.h; one PassRow per token
//   RETURN_IF_ERROR(pass.RunTo(layers / 2));
//   TensorView<const float> hidden = pass.Hidden();                       // [rows that are left, width]
//   RETURN_IF_ERROR(pass.Drop({3, 4}));                                   // a predictor expects nothing of these
//   ASSIGN_OR_RETURN(const HiddenRows last, pass.Finish({0, 2}));
//   RETURN_IF_ERROR(runner->Logits(last, {2}, logits));                   // logits: [1, vocabulary]
//
// A row is a token and one path per group of layers of the cache. A path is the list of slots that the row may attend to. The last slot of
// a path is the row's own: the row's key and value are stored there. Prompts, plain decoding, draft trees and parallel samples differ only
// in their rows. A row's bits depend neither on the other rows nor on the walk of the pass (docs/architecture.md, idea 5). Rows keep the
// numbers of Begin when other rows are dropped. If a layer takes fewer rows at a time than the pass has, a row must come after the rows
// that it attends to. All paths must be made after the cache's last MakeRoom.
//
// Lifetime: until a pass is over, sequences of the cache may only grow (Extend). Cache, adapters, runner and cancel flag must outlive the
// pass.
//
// Threads: one at a time for all passes of a runner.
//
// Errors: InvalidArgument (row or field, found, expected) changes nothing. An error of the source or the device, and Cancelled, ends the
// pass: the slots of all its rows then hold nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/timeline.h"
#include "tessera/base/token.h"
#include "tessera/model/hidden_rows.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/lora.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class PassRunner;
struct GraphNeed;

struct PassRow {
  TokenId token = 0;                      // Ignored if there is an embedding.
  absl::Span<const KvCache::Path> paths = {};  // KvCache::Paths, which must outlive the pass.
  const LoraAdapter* adapter = nullptr;   // Null: the model as it is.
  // [width], a hidden state as RunTo(0) shows it, in place of the token's: the input of a draft head or a forecast. Includes the model's
  // embedding scale. Must live until the pass has run the first layer.
  const float* embedding = nullptr;
  int position = kOwnPosition;            // The position in the rotation of keys and queries.
  static constexpr int kOwnPosition = -1;   // The length of the paths - 1.
};

// The way in which a layer takes the rows of a pass.
struct LayerRun {
  int chunk_rows = 0;   // Maximum rows at a time; 0: graph_rows or, if that is 0, CompiledModel::rows_together().
  int graph_rows = 0;   // Minimum rows of the graph; 0: the rows of the largest chunk.
};

class Pass {
 public:
  Pass(Pass&& other) noexcept;
  Pass& operator=(Pass&&) = delete;
  ~Pass();   // Without Finish: the slots of the pass's rows hold nothing.

  int layer() const { return layer_; }    // Layers that have been run.
  // Returns the numbers of the remaining rows, ascending. Valid until the next non-const call.
  absl::Span<const int> rows() const;

  // Runs layers until `layer` layers have been run. runs: one per layer of this call; empty: all by default. Weights are leased block by
  // block and given back before the next block's lease. No lease is held between calls. Returns InvalidArgument (found, expected) unless
  // layer() <= layer <= the model's layers and 0 <= chunk_rows <= graph_rows (unless that is 0) <= CompiledModel::rows_together(). Also if
  // a chunk holds a row that attends to a row of a later chunk.
  absl::Status RunTo(int layer, absl::Span<const LayerRun> runs = {});

  // Returns the rows' states after layer() layers: [rows().size(), width], in the order of rows(). Valid until the next non-const call.
  // Returns FailedPrecondition before the first RunTo.
  absl::StatusOr<TensorView<const float>> Hidden() const;

  // Drops these rows from the rest of the pass. The rows' slots hold keys and values of the first layer() layers alone. The caller frees
  // the slots after the pass. Returns InvalidArgument (index, found, expected) unless the numbers ascend and name remaining rows. Also if a
  // row that stays has the slot of a dropped row in its paths.
  absl::Status Drop(absl::Span<const int> rows);

  // Runs the remaining layers and ends the pass. Logits are available for the `wanted` rows. The last layer computes only the wanted rows,
  // which saves most of the layer's work in a prompt. No bit of a row depends on the other wanted rows. runs: as for RunTo. Returns
  // InvalidArgument (index, found, expected) unless the numbers ascend and name remaining rows.
  absl::StatusOr<HiddenRows> Finish(absl::Span<const int> wanted, absl::Span<const LayerRun> runs = {});
  absl::StatusOr<HiddenRows> FinishAll(absl::Span<const LayerRun> runs = {});   // All remaining rows are wanted.

 private:
  friend class PassRunner;
  Pass(PassRunner& runner, int rows, const std::atomic<bool>* cancel);

  absl::Status CheckOpen() const;
  absl::Status CheckRuns(absl::Span<const LayerRun> runs, int layers) const;
  // Returns `status`. An error ends the pass.
  absl::Status OrEnd(const absl::Status& status);
  void End();
  // Runs layers up to `to`. spares: for some rows the last layer will compute only keys and values.
  absl::Status Walk(int to, absl::Span<const LayerRun> runs, bool spares);
  absl::Status Embed(GraphNeed next);
  absl::StatusOr<HiddenRows> FinishPlaces(absl::Span<const int> places, absl::Span<const LayerRun> runs);
  absl::Status RunLastLayer(absl::Span<const int> places, const LayerRun& run);
  absl::Status RunChunks(int block, const LayerRun& run, absl::Span<const int> hidden, GraphNeed next);

  PassRunner* runner_;       // Null: the pass is over.
  int given_;                // Rows given to Begin.
  const std::atomic<bool>* cancel_;
  int layer_ = 0;
  bool embedded_ = false;    // Hidden states exist.
  Timeline* timeline_;       // The runner's timeline at Begin.
  int64_t begin_ns_ = 0;     // Start time on the timeline's clock.
};

}  // namespace tessera
