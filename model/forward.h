// A pass of rows through a model: embedding, every layer, and logits for the rows that are asked for.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Forward> forward, Forward::Create(config, layout, source, device, {.row_capacity = 512}));
//   RETURN_IF_ERROR(cache->Extend(sequence, tokens.size()));
//   RETURN_IF_ERROR(forward->Run(rows, *cache, {last_row}));            // one ForwardRow per token
//   RETURN_IF_ERROR(forward->Logits({last_row}, logits));               // logits: [1, vocabulary]
//
// A row is a token and, for each group of layers of the cache, a path: the slots that the row may attend to. The last slot of a path is the
// row's own, where its key and value go. The row's position is the length of its paths - 1.
// In a pass of more than `rows_together` rows, a row must come after the rows that it attends to. All paths of a pass must be made after
// the cache's last MakeRoom.
// Prompts, plain decoding, draft trees and parallel samples differ only in their rows, and a row's logits do not depend on the rows
// beside it (docs/architecture.md, idea 5). Weights are leased block by block from the source and given back before the next block's.
// Threads: one pass at a time. Errors: InvalidArgument names the row and what is wrong with it; a source's error is passed on,
// and leaves only the slots of this pass unusable.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/base/token.h"
#include "tessera/model/compiled_model.h"
#include "tessera/model/embedding_table.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/lora.h"
#include "tessera/npu/graph_store.h"
#include "tessera/storage/weight_source.h"
#include "tessera/tensor/rope.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

struct ForwardRow {
  TokenId token = 0;
  absl::Span<const KvCache::Path> paths;  // KvCache::Paths, which must outlive the pass.
  const LoraAdapter* adapter = nullptr;   // Null: the model as it is.
};

class Forward {
 public:
  struct Options {
    int row_capacity = 512;               // As CompiledModel::Options, these three.
    int rows_together = kRowsTogether;
    std::vector<int> graph_rows = {};
    Timeline* timeline = nullptr;         // Null: nothing is recorded and no clock is read.
    const std::atomic<bool>* cancel = nullptr;  // Looked at before each block: true ends the pass with Cancelled. Null: never.
  };
  // The source and the device must outlive the Forward. InvalidArgument if the model's graphs do not compile.
  static absl::StatusOr<std::unique_ptr<Forward>> Create(const ModelConfig& config, const WeightLayout& layout, WeightSource& source,
                                                         Device& device, const Options& options);
  // The same of a model that is compiled: its row capacities count, not those of the options. The layout must outlive this, too.
  static absl::StatusOr<std::unique_ptr<Forward>> Create(const ModelConfig& config, const WeightLayout& layout, CompiledModel model,
                                                         WeightSource& source, Device& device, const Options& options);
  // scratch_bytes() of such a Forward.
  static int64_t ScratchBytes(const ModelConfig& config, int row_capacity);

  // Computes rows and stores their keys and values. Afterwards Logits may be called for the `wanted` rows (ascending; without `wanted`, for
  // all). The last layer computes only these, which spares most of its work in a prompt. No bit of a row depends on what else is wanted.
  // No rows: does nothing. InvalidArgument, with the place, if `wanted` does not ascend or names no row.
  absl::Status Run(absl::Span<const ForwardRow> rows, const KvCache& cache, absl::Span<const int> wanted);
  absl::Status Run(absl::Span<const ForwardRow> rows, const KvCache& cache);

  // Logits of chosen rows of the last Run, which were wanted, in the order given. logits: [chosen.size(), vocabulary].
  absl::Status Logits(absl::Span<const int> chosen, TensorView<float> logits);

  // Since this was made: passes that have begun, and rows of those that are whole (but for their logits). From any thread.
  struct Work { int64_t passes = 0; int64_t rows = 0; };
  Work work() const { return {passes_begun_.load(std::memory_order_relaxed), rows_done_.load(std::memory_order_relaxed)}; }

  const CompiledModel& model() const { return model_; }
  int row_capacity() const { return model_.row_capacity(); }
  // All from the next call on. The source must outlive this; a null timeline: nothing is recorded and no clock is read. `cancel` ends
  // passes beside that of the options; null: nothing does.
  void SetSource(WeightSource& source) { source_ = &source; }
  void SetTimeline(Timeline* timeline) { options_.timeline = timeline; }
  void SetCancel(const std::atomic<bool>* cancel) { also_cancel_ = cancel; }
  int64_t scratch_bytes() const { return hidden_[0].size() + hidden_[1].size() + chosen_.size(); }

 private:
  struct GroupRows { std::vector<int32_t> slots; std::vector<SlotPath> paths; };
  using SlotOfRow = std::pair<int32_t, int>;

  Forward(const ModelConfig& config, CompiledModel model, EmbeddingTable embedding, WeightSource& source, Device& device,
          const Options& options)
      : config_(config), source_(&source), options_(options), model_(std::move(model)), store_(device, model_.variants()),
        embedding_(std::move(embedding)) {}

  absl::Status CheckCancelled() const;
  // leases_ hold the block's units until they are cleared.
  absl::Status LeaseUnits(int block);
  absl::Status RunLeased(int block, int detail, RunArguments& arguments, int next_block);
  absl::Status RunInBands(int block, int layer, absl::Span<const ForwardRow> rows, const KvCache& cache, absl::Span<const int> hidden,
                          int next_block);
  absl::Status RunBlock(int block, int detail, RunArguments& arguments, int next_block);
  // The block of a layer that a pass runs first. spares: the pass computes keys and values alone of some rows of the last layer.
  int FirstOfLayer(int layer, bool spares) const {
    return spares && layer == model_.layers() - 1 ? model_.last_keys_and_values() : model_.layer(layer);
  }
  absl::Status CheckRows(absl::Span<const ForwardRow> rows, int groups) const;
  void FillRowData(absl::Span<const ForwardRow> rows, int groups);
  absl::Status CheckSlotsDiffer(const std::vector<int32_t>& slots);
  absl::Status CheckOrder(const std::vector<SlotPath>& paths) const;
  void FillAdapters(absl::Span<const ForwardRow> rows, int layer);
  absl::Status CheckWanted(absl::Span<const int> wanted, int rows) const;
  RunArguments ArgumentsOf(absl::Span<const ForwardRow> rows, const KvCache& cache, int layer, Share band);
  absl::Status RunLayers(absl::Span<const ForwardRow> rows, const KvCache& cache);
  absl::Status RunLastLayer(absl::Span<const ForwardRow> rows, const KvCache& cache);
  void KeepWanted(GroupRows& of_group);
  absl::Status Normalize(absl::Span<const int> chosen);
  absl::Status RunHead(int rows, TensorView<float> logits);
  BoundBuffer Hidden(int which, int64_t row = 0) {
    const int64_t stride = RowStride(config_.width);
    return {hidden_[which].as<float>() + row * stride, stride};
  }

  const ModelConfig config_;
  WeightSource* source_;
  Options options_;
  const std::atomic<bool>* also_cancel_ = nullptr;
  const CompiledModel model_;
  GraphStore store_;
  EmbeddingTable embedding_;
  std::vector<RopeTable> ropes_;

  AlignedBuffer hidden_[2];      // Layers read one and write the other.
  int current_ = 0;              // Which holds the last pass's hidden states.
  std::vector<int> wanted_;      // Rows of the last pass whose hidden states are there, one behind the other.
  std::atomic<int64_t> passes_begun_{0}, rows_done_{0};
  AlignedBuffer chosen_;         // kHeadRows rows: those that get logits.

  // Per row of the pass at hand.
  std::vector<int32_t> tokens_;
  std::vector<GroupRows> group_rows_;      // For each group of the cache.
  std::vector<SlotOfRow> sorted_slots_;
  std::vector<const AdapterProduct*> adapters_;
  std::vector<std::vector<float>> rope_values_;
  std::vector<const float*> rope_pointers_;  // Per rope table: its values for the rows of the current band.
  // Kept between blocks to spare allocations.
  std::vector<WeightLease> leases_;
  std::vector<absl::Span<const std::byte>> weights_;
};

}  // namespace tessera
