#include "tessera/runtime/engine/loaded_model.h"

#include <utility>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/runtime/engine/internal/block_device_wrap.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/storage/resident_source.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadedModel::Open(const std::string& path, const Options& options) {
  auto model = std::unique_ptr<LoadedModel>(new LoadedModel(options));
  // Reading ahead would read all layers.
  const ModelFile::Weights weights = options.first.layers == 0 ? options.weights : ModelFile::Weights::kLater;
  ASSIGN_OR_RETURN(model->file_, ModelFile::Open(path, weights, options.cancel));
  if (options.importance != nullptr && model->file_->packed() != nullptr) {
    return WrongUsage("importance", absl::StrCat("statistics with ", path, ", a packed model"),
                      "a GGUF file: scales are chosen as a model is packed");
  }
  model->made_tokenizer_ =
      std::async(std::launch::async | std::launch::deferred, [&gguf = model->gguf()] { return ReadTokenizer(gguf); });
  RETURN_IF_ERROR(model->ReadConfig());
  ASSIGN_OR_RETURN(model->layout_, model->file_->PlanWeights(model->config_, options.encoding, options.recipe));
  return model;
}

absl::Status LoadedModel::ReadConfig() {
  ASSIGN_OR_RETURN(config_, ReadModelConfig(gguf()));
  const FirstLayersOptions& first = options_.first;
  const int layers = static_cast<int>(config_.layers.size());
  if (first.layers < 0 || first.layers > layers) {
    return WrongUsage("layers", first.layers, absl::StrCat("1 to ", layers, ", the layers of ", file_->path(), ", or 0 for all"));
  }
  if (first.layers == 0) {
    if (first.map.empty()) return absl::OkStatus();
    return WrongUsage("layers", absl::StrCat("0 with the map ", first.map), "the number of layers after which it is applied");
  }
  config_ = FirstLayers(std::move(config_), first.layers);
  if (first.map.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(exit_map_, ExitMap::Open(first.map, config_));
  return absl::OkStatus();
}

absl::Status LoadedModel::AwaitTokenizer() {
  ASSIGN_OR_RETURN(tokenizer_, made_tokenizer_.get());
  return absl::OkStatus();
}

absl::Status LoadedModel::LoadWeights(ThreadPool& pool) {
  CHECK(source_ == nullptr) << "LoadWeights: called a second time";
  ASSIGN_OR_RETURN(source_, file_->LoadWeights(layout_, pool, options_.cancel, {.importance = options_.importance}));
  return absl::OkStatus();
}

absl::Status LoadedModel::LoadUnits(absl::FunctionRef<bool(int unit)> is_wanted) {
  CHECK(source_ == nullptr) << "LoadUnits: called a second time";
  CHECK(file_->HoldsUnitsOf(layout_)) << file_->path();
  std::vector<int64_t> bytes;
  for (int unit = 0; unit < layout_.units(); ++unit) bytes.push_back(is_wanted(unit) ? layout_.UnitBytes(unit) : 0);
  absl::StatusOr<std::unique_ptr<ResidentSource>> source = ResidentSource::Create(bytes);
  if (!source.ok()) return absl::Status(source.status().code(), absl::StrCat(file_->path(), ": weights: ", source.status().message()));
  for (int unit = 0; unit < layout_.units(); ++unit) {
    if (options_.cancel != nullptr && *options_.cancel) return absl::CancelledError("loading: cancelled");
    if (bytes[static_cast<size_t>(unit)] > 0) RETURN_IF_ERROR(file_->packed()->ReadUnit(unit, (*source)->Unit(unit)));
  }
  source_ = *std::move(source);
  return absl::OkStatus();
}

absl::Status LoadedModel::StreamWeights(const StreamPlan& plan, const StreamingOptions& streaming, const TestHooks* hooks,
                                        Timeline* timeline) {
  CHECK(source_ == nullptr) << "StreamWeights: called a second time";
  RETURN_IF_ERROR(file_->CheckStreams(layout_));
  if (hooks != nullptr && hooks->open_source != nullptr) {
    ASSIGN_OR_RETURN(source_, hooks->open_source(*file_->packed(), plan));
    return absl::OkStatus();
  }
  LayerStreamer::Options options;
  ASSIGN_OR_RETURN(options.wrap_device, BlockDeviceWrapOf(streaming, hooks));
  options.pins = plan.pins;
  options.parts_only = plan.parts_only;
  options.ring_bytes = plan.ring_bytes;
  options.verify = streaming.verify;
  options.io = streaming.io;
  options.probe_in_child = streaming.probe_in_child;
  options.raise_priority = streaming.raise_priority;
  options.timeline = streaming.wrap_source == nullptr ? timeline : nullptr;
  options.cancel = options_.cancel;
  ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> streamer, LayerStreamer::Open(*file_->packed(), std::move(options)));
  streamer_ = streamer.get();
  source_ = std::move(streamer);
  reads_in_real_time_ = streaming.wrap_source == nullptr;
  if (!reads_in_real_time_) source_ = streaming.wrap_source(std::move(source_), *file_->packed(), plan);
  return absl::OkStatus();
}

WeightSource& LoadedModel::weights() const {
  CHECK(source_ != nullptr) << "weights: they are not loaded";
  return *source_;
}

int64_t LoadedModel::weight_bytes() const {
  if (streamer_ == nullptr) return layout_.TotalBytes();
  const LayerStreamer::Stats stats = streamer_->stats();
  return stats.pinned_bytes + stats.ring_bytes + LayerStreamer::kPartsBytes;
}

}  // namespace tessera
