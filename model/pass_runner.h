// Runs passes of rows through a model, and computes logits of rows of finished passes.
//
//   ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::Create(config, layout, {.row_capacity = 512}));
//   ASSIGN_OR_RETURN(std::unique_ptr<PassRunner> runner, PassRunner::Create(config, layout, std::move(model), source, device, {}));
//   RETURN_IF_ERROR(cache->Extend(sequence, tokens.size()));
//   ASSIGN_OR_RETURN(const HiddenRows rows_done, runner->Run(rows, *cache, {last_row}));    // one PassRow per token
//   RETURN_IF_ERROR(runner->Logits(rows_done, {last_row}, logits));                         // logits: [1, vocabulary]
//
// Run runs all layers at once; Begin returns a pass to walk (model/pass.h). Logits of rows of several passes can be computed together
// (model/hidden_rows.h): the head's weights are then read once for all rows. Threads: one at a time. Errors: InvalidArgument (row, found,
// expected). A source's error is passed on, and leaves only the slots of this pass unusable.
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

// A row of a finished pass, by the row's number in the pass.
struct RowOf { const HiddenRows* pass = nullptr; int row = 0; };

class PassRunner {
 public:
  struct Options {
    Timeline* timeline = nullptr;               // Null: nothing is recorded and no clock is read.
    const std::atomic<bool>* cancel = nullptr;  // Read before each block: true ends the pass with Cancelled. Null: never.
    // Maps the rows' states between the last layer and the norm, on the pool's threads. Map and pool must outlive the runner. Null: no map,
    // at no cost.
    const ExitMap* exit_map = nullptr;
    ThreadPool* pool = nullptr;                 // REQUIRED with an exit_map.
    // True: loads all graphs that the device can hold. False: loads only the graphs of layers that SwitchGraphs and passes ask for.
    bool loads_graphs = true;
  };
  // Makes a runner. The layout, the source and the device must outlive the runner. Returns the errors of the device that loads the model's
  // graphs.
  static absl::StatusOr<std::unique_ptr<PassRunner>> Create(const ModelConfig& config, const WeightLayout& layout, CompiledModel model,
                                                            WeightSource& source, Device& device, const Options& options);
  ~PassRunner();
  // Returns scratch_bytes() of a runner for this configuration.
  static int64_t ScratchBytes(const ModelConfig& config, int row_capacity);

  // Begins a pass of these rows, without any computation yet. cancel: as in Options, for this pass alone. Without rows, the pass computes
  // nothing. Returns InvalidArgument (row, found, expected); FailedPrecondition while another pass is neither finished nor ended. After an
  // error the last pass's hidden rows are still valid.
  absl::StatusOr<Pass> Begin(absl::Span<const PassRow> rows, const KvCache& cache, const std::atomic<bool>* cancel = nullptr);
  // Calls Begin and Finish.
  absl::StatusOr<HiddenRows> Run(absl::Span<const PassRow> rows, const KvCache& cache, absl::Span<const int> wanted,
                                 const std::atomic<bool>* cancel = nullptr);

  // Computes logits of wanted rows of this runner's passes, in the given order. May be called during a pass. logits: [rows.size(),
  // vocabulary]. Returns InvalidArgument (row, found, expected) for an unwanted row, or for logits of another shape. Returns
  // FailedPrecondition for rows that a later pass has overwritten (HiddenRows::Keep).
  absl::Status Logits(absl::Span<const RowOf> rows, TensorView<float> logits, const std::atomic<bool>* cancel = nullptr);
  absl::Status Logits(const HiddenRows& pass, absl::Span<const int> rows, TensorView<float> logits,
                      const std::atomic<bool>* cancel = nullptr);

  // Counts since the runner was made: begun passes, and rows that came to the end of a pass, without dropped rows. From any thread.
  struct Work { int64_t passes = 0; int64_t rows = 0; };
  Work work() const { return {passes_begun_.load(std::memory_order_relaxed), rows_done_.load(std::memory_order_relaxed)}; }

  // For devices that hold one graph of a layer at a time: loads the graph of `rows` rows for layers [first, end), and unloads all other
  // graphs of the layers. On a device with a virtual clock, each call is one load, separate from earlier loads. Call SwitchGraphs between
  // passes, or at a layer of a pass. Returns the device's first error. Layers with an error have no graph until a pass needs the graph.
  // REQUIRES: 0 <= first <= end <= the model's layers, and rows is at most CompiledModel::rows_together().
  absl::Status SwitchGraphs(int first, int end, int rows);
  // Returns true if the graphs last requested for these layers are loaded, and none of the graphs is still loading.
  bool GraphsAreReady(int first, int end) const;

  const CompiledModel& model() const { return model_; }
  int row_capacity() const { return model_.row_capacity(); }
  // Sets the source from the next call on. The source must outlive the runner.
  void SetSource(WeightSource& source);
  void SetTimeline(Timeline* timeline);
  int64_t scratch_bytes() const { return hidden_[0].size() + hidden_[1].size() + chosen_.size() + mapped_.size(); }

 private:
  friend class Pass;
  friend class HiddenRows;
  using StateOf = absl::FunctionRef<absl::StatusOr<const float*>(size_t i)>;

  PassRunner(const ModelConfig& config, CompiledModel model, EmbeddingTable embedding, const Options& options);
  absl::Status LoadAllButLayers();   // Embeddings, norm and head, for all numbers of rows.
  // Computes logits of `rows` rows. state_of(i): the hidden state of the i-th row.
  absl::Status LogitsOf(size_t rows, StateOf state_of, TensorView<float> logits, const std::atomic<bool>* cancel);
  absl::Status Normalize(size_t begin, size_t end, StateOf state_of);
  absl::Status RunHead(int rows, TensorView<float> logits);
  // Drops all rows except the rows at these places.
  void KeepRows(absl::Span<const int> places);
  BoundBuffer Hidden(int which, int64_t place = 0) const;

  const ModelConfig config_;
  const std::atomic<bool>* const always_cancel_;
  const ExitMap* const exit_map_;
  ThreadPool* const pool_;
  const CompiledModel model_;
  EmbeddingTable embedding_;
  std::unique_ptr<BlockRunner> blocks_;
  std::unique_ptr<PassRows> rows_;   // Rows of the last pass that remain, or were wanted.

  AlignedBuffer hidden_[2];          // Layers read one and write the other.
  int current_ = 0;                  // Index of the buffer with the hidden states of rows_, by place.
  AlignedBuffer chosen_;             // kHeadRows rows: the rows that get logits,
  AlignedBuffer mapped_;             // and the same rows after the exit map, if there is one.

  int64_t last_pass_ = 0;            // Number of the last pass; the first is 1.
  bool is_open_ = false;             // The pass is neither finished nor ended.
  std::atomic<int64_t> passes_begun_{0}, rows_done_{0};
};

}  // namespace tessera
