#include "tessera/model/forward.h"

#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<Forward>> Forward::Create(const ModelConfig& config, const WeightLayout& layout, WeightSource& source,
                                                         Device& device, const Options& options) {
  ASSIGN_OR_RETURN(CompiledModel model, CompiledModel::Create(config, layout, {.row_capacity = options.row_capacity,
                                                                               .rows_together = options.rows_together,
                                                                               .graph_rows = options.graph_rows}));
  return Create(config, layout, std::move(model), source, device, options);
}

absl::StatusOr<std::unique_ptr<Forward>> Forward::Create(const ModelConfig& config, const WeightLayout& layout, CompiledModel model,
                                                         WeightSource& source, Device& device, const Options& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<PassRunner> runner, PassRunner::Create(config, layout, std::move(model), source, device,
                                                                          {.timeline = options.timeline, .cancel = options.cancel}));
  return std::unique_ptr<Forward>(new Forward(std::move(runner), options));
}

int64_t Forward::ScratchBytes(const ModelConfig& config, int row_capacity) { return PassRunner::ScratchBytes(config, row_capacity); }

absl::Status Forward::Run(absl::Span<const ForwardRow> rows, const KvCache& cache, absl::Span<const int> wanted) {
  last_ = HiddenRows();
  ASSIGN_OR_RETURN(last_, runner_->Run(rows, cache, wanted, also_cancel_));
  return absl::OkStatus();
}

absl::Status Forward::Run(absl::Span<const ForwardRow> rows, const KvCache& cache) {
  last_ = HiddenRows();
  ASSIGN_OR_RETURN(Pass pass, runner_->Begin(rows, cache, also_cancel_));
  ASSIGN_OR_RETURN(last_, pass.FinishAll());
  return absl::OkStatus();
}

absl::Status Forward::Logits(absl::Span<const int> chosen, TensorView<float> logits) {
  return runner_->Logits(last_, chosen, logits, also_cancel_);
}

}  // namespace tessera
