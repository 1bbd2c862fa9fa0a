// A pass of rows through a model's layers. Its owner walks it: to any layer, to read hidden states and drop rows there, and to the end.
//
//   ASSIGN_OR_RETURN(Pass pass, runner->Begin(rows, *cache));             // model/pass_runner.h; one PassRow per token
//   RETURN_IF_ERROR(pass.RunTo(layers / 2));
//   TensorView<const float> hidden = pass.Hidden();                       // [rows that are left, width]
//   RETURN_IF_ERROR(pass.Drop({3, 4}));                                   // a predictor expects nothing of these
//   ASSIGN_OR_RETURN(const HiddenRows last, pass.Finish({0, 2}));
//   RETURN_IF_ERROR(runner->Logits(last, {2}, logits));                   // logits: [1, vocabulary]
//
// A row is a token and, for each group of layers of the cache, a path: the slots that the row may attend to. The last slot of a path is the
// row's own, where its key and value go. Prompts, plain decoding, draft trees and parallel samples differ only in their rows, and a row's
// bits do not depend on the rows beside it, nor on how the pass is walked (docs/architecture.md, idea 5).
// Rows keep the numbers that they had in Begin, whatever is dropped. A row must come after the rows that it attends to where a layer takes
// fewer rows at a time than the pass has. All paths must be made after the cache's last MakeRoom.
// Until a pass is over, sequences of the cache may only grow (Extend); cache, adapters, runner and cancel flag must outlive it.
// Threads: one at a time for all passes of a runner. Errors: InvalidArgument names the row or field and what is wrong with it, and changes
// nothing. An error of the source or the device, and Cancelled, ends the pass: then the slots of all its rows hold nothing.
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
  TokenId token = 0;                      // Not looked at where there is an embedding.
  absl::Span<const KvCache::Path> paths = {};  // KvCache::Paths, which must outlive the pass.
  const LoraAdapter* adapter = nullptr;   // Null: the model as it is.
  // [width], a hidden state as RunTo(0) shows it, taken instead of the token's: what a draft head or a forecast is fed with. The model's
  // embedding scale is in it already. Must live until the pass has run its first layer.
  const float* embedding = nullptr;
  int position = kOwnPosition;            // By which keys and queries are rotated.
  static constexpr int kOwnPosition = -1;   // The length of the paths - 1.
};

// How a layer takes the rows of a pass.
struct LayerRun {
  int chunk_rows = 0;   // At most so many at a time; 0: graph_rows or, if that is 0, CompiledModel::rows_together().
  int graph_rows = 0;   // By a graph of at least so many rows; 0: of as many as its largest chunk has.
};

class Pass {
 public:
  Pass(Pass&& other) noexcept;
  Pass& operator=(Pass&&) = delete;
  ~Pass();   // Ended unfinished: the slots of its rows hold nothing.

  int layer() const { return layer_; }    // Layers that have been run.
  // The numbers of the rows that are left, ascending. Valid until the next call that is not const.
  absl::Span<const int> rows() const;

  // Runs layers until `layer` of them have been run. runs: one for each of these layers; empty: all by default. Weights are leased block
  // by block and given back before the next block's; no lease is held between calls. InvalidArgument (found, expected) unless
  // layer() <= layer <= the model's layers, and 0 <= chunk_rows <= graph_rows (unless that is 0) <= CompiledModel::rows_together(), or if
  // a chunk holds a row that attends to one of a later chunk.
  absl::Status RunTo(int layer, absl::Span<const LayerRun> runs = {});

  // What layer() layers have made of the rows: [rows().size(), width], in their order. Valid until the next call that is not const.
  // FailedPrecondition before the first RunTo.
  absl::StatusOr<TensorView<const float>> Hidden() const;

  // Leaves these rows out from here on. Their slots hold keys and values of the first layer() layers alone: the caller frees them after
  // the pass. InvalidArgument (which, found, expected) unless the numbers ascend and are of rows that are left, or if a row that stays has
  // the slot of one of them in its paths.
  absl::Status Drop(absl::Span<const int> rows);

  // Runs the layers that are left, and ends the pass: logits may be asked of the `wanted` rows. The last layer computes only these, which
  // spares most of its work in a prompt. No bit of a row depends on what else is wanted. runs: as for RunTo. InvalidArgument (which,
  // found, expected) unless the numbers ascend and are of rows that are left.
  absl::StatusOr<HiddenRows> Finish(absl::Span<const int> wanted, absl::Span<const LayerRun> runs = {});
  absl::StatusOr<HiddenRows> FinishAll(absl::Span<const LayerRun> runs = {});   // All rows that are left are wanted.

 private:
  friend class PassRunner;
  Pass(PassRunner& runner, int rows, const std::atomic<bool>* cancel);

  absl::Status CheckOpen() const;
  absl::Status CheckRuns(absl::Span<const LayerRun> runs, int layers) const;
  // Returns `status`; if it is an error, the pass is over.
  absl::Status OrEnd(const absl::Status& status);
  void End();
  // Runs layers up to `to`. spares: the last layer will compute keys and values alone of some rows.
  absl::Status Walk(int to, absl::Span<const LayerRun> runs, bool spares);
  absl::Status Embed(GraphNeed next);
  absl::StatusOr<HiddenRows> FinishPlaces(absl::Span<const int> places, absl::Span<const LayerRun> runs);
  absl::Status RunLastLayer(absl::Span<const int> places, const LayerRun& run);
  absl::Status RunChunks(int block, const LayerRun& run, absl::Span<const int> hidden, GraphNeed next);

  PassRunner* runner_;       // Null: it is over.
  int given_;                // Rows of Begin.
  const std::atomic<bool>* cancel_;
  int layer_ = 0;
  bool embedded_ = false;    // Whether hidden states are there.
  Timeline* timeline_;       // The runner's at Begin.
  int64_t begin_ns_ = 0;     // On its clock.
};

}  // namespace tessera
