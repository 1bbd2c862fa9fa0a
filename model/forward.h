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
#include "tessera/model/pass_runner.h"
#include "tessera/storage/weight_source.h"
#include "tessera/tensor/rope.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

using ForwardRow = PassRow;

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
  using Work = PassRunner::Work;
  Work work() const { return runner_->work(); }

  const CompiledModel& model() const { return runner_->model(); }
  int row_capacity() const { return runner_->row_capacity(); }
  // All from the next call on. The source must outlive this; a null timeline: nothing is recorded and no clock is read. `cancel` ends
  // passes beside that of the options; null: nothing does.
  void SetSource(WeightSource& source) { runner_->SetSource(source); }
  void SetTimeline(Timeline* timeline) { runner_->SetTimeline(timeline); }
  void SetCancel(const std::atomic<bool>* cancel) { also_cancel_ = cancel; }
  int64_t scratch_bytes() const { return runner_->scratch_bytes(); }

 private:
  Forward(std::unique_ptr<PassRunner> runner, const Options& options) : options_(options), runner_(std::move(runner)) {}

  Options options_;
  const std::atomic<bool>* also_cancel_ = nullptr;
  std::unique_ptr<PassRunner> runner_;
  HiddenRows last_;   // Of the last pass; of none if it failed.
};

}  // namespace tessera
