#include "tessera/runtime/loaded_model.h"

#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/runtime/test_hooks.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/throttled_device.h"

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

absl::Status LoadedModel::StreamWeights(const StreamPlan& plan, const StreamingOptions& streaming, const TestHooks* hooks,
                                        Timeline* timeline) {
  CHECK(source_ == nullptr) << "StreamWeights: called a second time";
  RETURN_IF_ERROR(file_->CheckStreams(layout_));
  if (hooks != nullptr && hooks->open_source != nullptr) {
    ASSIGN_OR_RETURN(source_, hooks->open_source(*file_->packed(), plan));
    return absl::OkStatus();
  }
  LayerStreamer::Options options;
  if (hooks != nullptr) options.wrap_device = hooks->wrap_device;
  if (!streaming.flash.empty()) {
    ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile(streaming.flash));
    options.wrap_device = [flash, wrap = options.wrap_device](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
      return std::make_unique<ThrottledDevice>(wrap == nullptr ? std::move(device) : wrap(std::move(device)), flash);
    };
  }
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
  if (streamer_ == nullptr) return layout_.TotalBytes() + (exit_map_ == nullptr ? 0 : exit_map_->bytes());
  const LayerStreamer::Stats stats = streamer_->stats();
  return stats.pinned_bytes + stats.ring_bytes + LayerStreamer::kPartsBytes;
}

}  // namespace tessera
