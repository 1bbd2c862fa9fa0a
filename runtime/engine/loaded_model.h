// A model: the file, the file's description of the model, and the weights.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model, LoadedModel::Open("model.gguf", {.encoding = WeightEncoding::kPacked}));
//   ASSIGN_OR_RETURN(...);                                    // what needs no tokenizer, while that is made
//   RETURN_IF_ERROR(model->AwaitTokenizer());
//   RETURN_IF_ERROR(model->LoadWeights(pool));
//   ASSIGN_OR_RETURN(WeightLease lease, model->weights().Acquire(0));
//
// Threads: after AwaitTokenizer const functions may be called from any thread, the other functions from one thread at a time.
// Lifetime: leases must end before the model.
// Errors: name the file, the value found and the value expected.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/model/exit_map.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/model/files/weights.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/npu/device.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/storage/stream_plan.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class LoadedModel {
 public:
  struct Options {
    WeightEncoding encoding = WeightEncoding::kPacked;             // The device's encoding of weights.
    std::optional<WeightRecipe> recipe = {};                       // See ModelFile::PlanWeights.
    ModelFile::Weights weights = ModelFile::Weights::kLater;       // See ModelFile::Open.
    const Importance* importance = nullptr;                        // FillOptions::importance, borrowed until weights are loaded.
    FirstLayersOptions first = {};                                 // Computes only the first layers.
    const std::atomic<bool>* cancel = nullptr;                     // True ends loading with Cancelled. Null: never. Must outlive the model.
  };
  // Opens the file and reads the file's description of the model. The tokenizer, which takes as long as the rest of loading, is made
  // meanwhile, on a thread of its own if the system gives one. WrongUsage (importance) for statistics with a packed file, whose scales are
  // chosen already. WrongUsage (layers) for more first layers than the model has, or for a map without a number of layers. Also returns the
  // errors of ExitMap::Open.
  static absl::StatusOr<std::unique_ptr<LoadedModel>> Open(const std::string& path, const Options& options);
  // Waits for the tokenizer. Call once, before any function except file, gguf, config and layout.
  absl::Status AwaitTokenizer();

  const ModelFile& file() const { return *file_; }
  const GgufFile& gguf() const { return file_->gguf(); }
  const ModelConfig& config() const { return config_; }
  const WeightLayout& layout() const { return layout_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ExitMap* exit_map() const { return exit_map_.get(); }   // PassRunner::Options::exit_map. Null: none.
  int64_t logit_row_bytes() const { return config_.vocabulary * static_cast<int64_t>(sizeof(float)); }

  // Puts all weights in memory. Weights of a packed file may still be read when this returns; the first leases then wait for the weights.
  // REQUIRES, also for LoadUnits and StreamWeights: no weights are loaded yet.
  absl::Status LoadWeights(ThreadPool& pool);
  // Puts the wanted units of a packed file in memory, and nothing of the other units: graphs hold the others (model/reading_device.h).
  // Returns the errors of TsrReader::ReadUnit, Cancelled or ResourceExhausted. REQUIRES: the file holds the layout's units
  // (ModelFile::HoldsUnitsOf).
  absl::Status LoadUnits(absl::FunctionRef<bool(int unit)> is_wanted);
  // Pins and streams the weights of a packed file according to `plan`. Pinned weights may still be read when this returns, as for
  // LoadWeights. Null hooks: none. The timeline, if any, must outlive the model. InvalidArgument (found, expected, how to pack the model)
  // if the file's weights differ from the layout (ModelFile::CheckStreams).
  absl::Status StreamWeights(const StreamPlan& plan, const StreamingOptions& options, const TestHooks* hooks, Timeline* timeline);

  // Returns the source of weights. REQUIRES: weights are loaded.
  WeightSource& weights() const;
  // Returns the loading of weights that stay in memory. Null: no weights are loaded, or all are in memory.
  Loading* loading() const { return source_ == nullptr ? nullptr : source_->loading(); }
  // Returns the streamer. Null unless StreamWeights made one.
  const LayerStreamer* streamer() const { return streamer_; }
  LayerStreamer* streamer() { return streamer_; }
  // Returns the streamer for StepClock, if reads take time on the real clock. Null if StreamingOptions::wrap_source makes reads take time
  // on the engine's clock.
  const LayerStreamer* timed_streamer() const { return reads_in_real_time_ ? streamer_ : nullptr; }
  // Returns whether passes read weights as they go: not all weights are pinned.
  bool streams() const { return streamer_ != nullptr && streamer_->stats().pass_bytes > 0; }
  // Returns the bytes that weights take now.
  int64_t weight_bytes() const;
  // Returns the bytes of a map before the norm. Valid from Open on.
  int64_t exit_map_bytes() const { return exit_map_ == nullptr ? 0 : exit_map_->bytes(); }

 private:
  explicit LoadedModel(const Options& options) : options_(options) {}
  absl::Status ReadConfig();

  const Options options_;
  std::unique_ptr<ModelFile> file_;
  ModelConfig config_;
  WeightLayout layout_;
  std::unique_ptr<ExitMap> exit_map_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<WeightSource> source_;   // Ends before file_, which the source's threads may read.
  LayerStreamer* streamer_ = nullptr;      // The source, or the streamer that source_ wraps. Null: nothing is streamed.
  bool reads_in_real_time_ = true;
  std::future<absl::StatusOr<std::unique_ptr<Tokenizer>>> made_tokenizer_;  // Ends first: the thread reads file_.
};

}  // namespace tessera
