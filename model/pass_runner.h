// Runs passes of rows through a model, and computes logits of rows of passes that are finished.
//
//   ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::Create(config, layout, {.row_capacity = 512}));
//   ASSIGN_OR_RETURN(std::unique_ptr<PassRunner> runner, PassRunner::Create(config, layout, std::move(model), source, device, {}));
//   RETURN_IF_ERROR(cache->Extend(sequence, tokens.size()));
//   ASSIGN_OR_RETURN(const HiddenRows rows_done, runner->Run(rows, *cache, {last_row}));    // one PassRow per token
//   RETURN_IF_ERROR(runner->Logits(rows_done, {last_row}, logits));                         // logits: [1, vocabulary]
//
// Run is the plain way through all layers; Begin gives a pass to walk (model/pass.h). Logits of rows of several passes can be computed
// together (model/hidden_rows.h), which reads the head's weights once for all of them.
// Threads: one at a time. Errors: InvalidArgument names the row and what is wrong with it; a source's error is passed on, and leaves only
// the slots of this pass unusable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/model/compiled_model.h"
#include "tessera/model/embedding_table.h"
#include "tessera/model/pass.h"
#include "tessera/storage/weight_source.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class BlockRunner;
class ExitMap;
class PassRows;

// A row of a finished pass, by its number there.
struct RowOf { const HiddenRows* pass = nullptr; int row = 0; };

class PassRunner {
 public:
  struct Options {
    Timeline* timeline = nullptr;               // Null: nothing is recorded and no clock is read.
    const std::atomic<bool>* cancel = nullptr;  // Looked at before each block: true ends the pass with Cancelled. Null: never.
    // What layers have made of a row goes through it before norm and head, on the pool's threads. Both must outlive the runner. Null: it
    // goes there as it is, at no cost.
    const ExitMap* exit_map = nullptr;
    ThreadPool* pool = nullptr;                 // REQUIRED with a map.
    bool loads_graphs = true;                   // What the device can hold. False: of layers only what SwitchGraphs and passes ask for.
  };
  // The layout, the source and the device must outlive it. Errors are those of the device that loads the model's graphs.
  static absl::StatusOr<std::unique_ptr<PassRunner>> Create(const ModelConfig& config, const WeightLayout& layout, CompiledModel model,
                                                            WeightSource& source, Device& device, const Options& options);
  ~PassRunner();
  // scratch_bytes() of such a runner.
  static int64_t ScratchBytes(const ModelConfig& config, int row_capacity);

  // A pass of these rows, which has computed nothing yet. cancel: as in the options, for this pass alone. No rows: a pass that computes
  // nothing. InvalidArgument names the row and what is wrong with it; FailedPrecondition while another pass is neither finished nor ended.
  // After an error the last pass's hidden rows are still there.
  absl::StatusOr<Pass> Begin(absl::Span<const PassRow> rows, const KvCache& cache, const std::atomic<bool>* cancel = nullptr);
  // Begin and Finish.
  absl::StatusOr<HiddenRows> Run(absl::Span<const PassRow> rows, const KvCache& cache, absl::Span<const int> wanted,
                                 const std::atomic<bool>* cancel = nullptr);

  // Logits of rows of this runner's passes that were wanted, in the order given, also while a pass is under way.
  // logits: [rows.size(), vocabulary]. InvalidArgument (row, found, expected) for a row that was not wanted, or logits of another shape;
  // FailedPrecondition for rows that a later pass has overwritten (HiddenRows::Keep).
  absl::Status Logits(absl::Span<const RowOf> rows, TensorView<float> logits, const std::atomic<bool>* cancel = nullptr);
  absl::Status Logits(const HiddenRows& pass, absl::Span<const int> rows, TensorView<float> logits,
                      const std::atomic<bool>* cancel = nullptr);

  // Since this was made: passes that have begun, and rows that have come to the end of one, dropped ones not counted. From any thread.
  struct Work { int64_t passes = 0; int64_t rows = 0; };
  Work work() const { return {passes_begun_.load(std::memory_order_relaxed), rows_done_.load(std::memory_order_relaxed)}; }

  // For devices that hold one graph of a layer at a time: of these layers, loads the graph of so many rows and unloads all others. On a
  // device with a virtual clock that is one load, and another one than those before.
  // Between passes, or at a layer of one that is under way. The device's first error; layers that had one have no graph until a pass needs
  // it.
  // REQUIRES: 0 <= first <= end <= the model's layers, and rows is at most CompiledModel::rows_together().
  absl::Status SwitchGraphs(int first, int end, int rows);
  // The graphs that these layers were asked for last are there, and none is still being loaded.
  bool GraphsAreReady(int first, int end) const;

  const CompiledModel& model() const { return model_; }
  int row_capacity() const { return model_.row_capacity(); }
  // All from the next call on. The source must outlive this.
  void SetSource(WeightSource& source);
  void SetTimeline(Timeline* timeline);
  int64_t scratch_bytes() const { return hidden_[0].size() + hidden_[1].size() + chosen_.size() + mapped_.size(); }

 private:
  friend class Pass;
  friend class HiddenRows;
  using StateOf = absl::FunctionRef<absl::StatusOr<const float*>(size_t i)>;

  PassRunner(const ModelConfig& config, CompiledModel model, EmbeddingTable embedding, const Options& options);
  absl::Status LoadAllButLayers();   // Embeddings, norm and head, for all numbers of rows.
  // The hidden state of the i-th row that logits are asked of.
  absl::Status LogitsOf(size_t rows, StateOf state_of, TensorView<float> logits, const std::atomic<bool>* cancel);
  absl::Status Normalize(size_t begin, size_t end, StateOf state_of);
  absl::Status RunHead(int rows, TensorView<float> logits);
  // Leaves out all rows but those at these places.
  void KeepRows(absl::Span<const int> places);
  BoundBuffer Hidden(int which, int64_t place = 0) const;

  const ModelConfig config_;
  const std::atomic<bool>* const always_cancel_;
  const ExitMap* const exit_map_;
  ThreadPool* const pool_;
  const CompiledModel model_;
  EmbeddingTable embedding_;
  std::unique_ptr<BlockRunner> blocks_;
  std::unique_ptr<PassRows> rows_;   // Those of the last pass that are left, or were wanted.

  AlignedBuffer hidden_[2];          // Layers read one and write the other.
  int current_ = 0;                  // Which holds the hidden states of rows_, by place.
  AlignedBuffer chosen_;             // kHeadRows rows: those that get logits,
  AlignedBuffer mapped_;             // and what the exit map makes of them, if there is one.

  int64_t last_pass_ = 0;            // Its number; the first is 1.
  bool is_open_ = false;             // It is neither finished nor ended.
  std::atomic<int64_t> passes_begun_{0}, rows_done_{0};
};

}  // namespace tessera
