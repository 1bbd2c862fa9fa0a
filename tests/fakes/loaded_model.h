// A model below the runtime layer, and the machines that run the model: threads, device, cache and passes.
//
//   LoadedWeights model(TinyModelBuilder({}));                            // or LoadedWeights model("model.gguf")
//   Machine machine(model, {.threads = 2, .scatter_seed = 7});
//   std::vector<float> logits = machine.Plain({3, 1, 4});              // of the last token, one token per pass
//
// Machines share a model's weights and nothing else. Operations that cannot fail in a right program are CHECKed. Thread-compatible.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/pass_runner.h"
#include "tessera/npu/hmx/hmx_device.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/loaded_weights.h"
#include "tessera/tests/fakes/static_device.h"

namespace tessera {

class Machine {
 public:
  struct Options {
    int threads = 1;
    KernelPath path = BestKernelPath();
    KvFormat kv_format = KvFormat::kHalf;    // Format on the fast path.
    const MatMulKernels* matmul = nullptr;   // Null: the path's own.
    uint64_t scatter_seed = 0;               // 0: slots of a sequence are neighbours.
    int slots = 512;
    int row_capacity = 64;
    int rows_together = 64;
    int windowed_sequences = 0;              // As KvCache::Options::sequences; 0: all layers keep all positions.
    WeightSource* source = nullptr;          // Null: the model's.
    Timeline* timeline = nullptr;
    int kv_block = 16;                       // As HmxDevice::Options.
    int static_graphs = 0;                   // Not 0: a StaticDevice that holds this number of graphs. The device has one thread.
    std::vector<int> graph_rows = {};        // As CompiledModel::Options.
    // Makes the device, on the machine's threads. Null: Machine's constructor chooses a device.
    std::function<std::unique_ptr<Device>(ThreadPool& pool)> make_device = nullptr;
  };
  // Uses the reference device if the model's weights are FP32; if the weights are in tiles, a device that computes as a phone NPU. The
  // model must outlive the machine.
  Machine(const LoadedWeights& model, const Options& options) : config_(model.config()), pool_(options.threads) {
    if (options.make_device != nullptr) {
      device_ = options.make_device(pool_);
    } else if (model.layout().encoding() == WeightEncoding::kFloat32) {
      device_ = std::make_unique<ReferenceDevice>(&pool_);
    } else if (model.layout().encoding() == WeightEncoding::kTiles) {
      device_ = std::make_unique<HmxDevice>(pool_, HmxDevice::Options{.path = options.path, .kv_block = options.kv_block});
    } else if (options.static_graphs != 0) {
      device_ = std::make_unique<StaticDevice>(
          StaticDevice::Options{{options.path, options.kv_format, options.matmul}, options.static_graphs});
    } else {
      device_ = std::make_unique<HostDevice>(pool_, HostDevice::Options{options.path, options.kv_format, options.matmul});
    }
    cache_ = Must(KvCache::Create({.layers = static_cast<int>(config_.layers.size()), .heads = config_.kv_heads,
                                   .head_size = config_.head_size, .slots = options.slots, .format = device_->kv_format(),
                                   .windows = options.windowed_sequences > 0 ? WindowsOf(config_) : std::vector<int>(),
                                   .largest_pass = options.row_capacity, .sequences = std::max(1, options.windowed_sequences),
                                   .scatter_seed = options.scatter_seed}));
    WeightSource& source = options.source != nullptr ? *options.source : model.source();
    CompiledModel compiled = Must(CompiledModel::Create(config_, model.layout(), {.row_capacity = options.row_capacity,
                                                                                  .rows_together = options.rows_together,
                                                                                  .graph_rows = options.graph_rows}));
    runner_ = Must(PassRunner::Create(config_, model.layout(), std::move(compiled), source, *device_, {.timeline = options.timeline}));
  }

  const ModelConfig& config() const { return config_; }
  KvCache& cache() { return *cache_; }
  PassRunner& runner() { return *runner_; }
  Device& device() { return *device_; }

  // Extends the sequence by `tokens` in one pass and returns the logits of each.
  std::vector<std::vector<float>> Extend(KvCache::SequenceId sequence, absl::Span<const TokenId> tokens,
                                         const LoraAdapter* adapter = nullptr) {
    return Extend(sequence, tokens, All(static_cast<int>(tokens.size())), adapter);
  }
  // Like the above, for chosen rows; returns only the chosen rows' logits.
  std::vector<std::vector<float>> Extend(KvCache::SequenceId sequence, absl::Span<const TokenId> tokens, absl::Span<const int> wanted,
                                         const LoraAdapter* adapter) {
    const int before = cache_->Length(sequence), count = static_cast<int>(tokens.size());
    Must(cache_->MakeRoom(count));
    Must(cache_->Extend(sequence, count));
    std::vector<KvCache::Paths> paths;
    for (int i = 0; i < count; ++i) paths.push_back(cache_->PathsOf(sequence, before + i + 1));
    std::vector<PassRow> rows;
    for (int i = 0; i < count; ++i) rows.push_back({tokens[i], paths[i], adapter});
    Must(Run(rows, wanted));
    return LogitsOf(wanted);
  }

  // Extends the sequence by one token. Returns the token's logits, or the source's error: the sequence then stays unchanged.
  absl::StatusOr<std::vector<float>> TryExtend(KvCache::SequenceId sequence, TokenId token) {
    const int before = cache_->Length(sequence);
    Must(cache_->MakeRoom(1));
    Must(cache_->Extend(sequence, 1));
    const KvCache::Paths paths = cache_->PathsOf(sequence, before + 1);
    std::vector<float> logits(config_.vocabulary);
    absl::Status status = Run({{token, paths, nullptr}});
    if (status.ok()) status = Logits({0}, TensorView<float>(logits.data(), 1, config_.vocabulary));
    if (status.ok()) return logits;
    cache_->Truncate(sequence, before);
    return status;
  }

  // Runs a pass with some or all rows wanted. Logits of these rows are valid until the next pass.
  absl::Status Run(absl::Span<const PassRow> rows) { return Run(rows, All(static_cast<int>(rows.size()))); }
  absl::Status Run(absl::Span<const PassRow> rows, absl::Span<const int> wanted) {
    last_ = HiddenRows();
    ASSIGN_OR_RETURN(last_, runner_->Run(rows, *cache_, wanted));
    return absl::OkStatus();
  }
  absl::Status Logits(absl::Span<const int> chosen, TensorView<float> logits) { return runner_->Logits(last_, chosen, logits); }

  // Returns the logits of every row of the last pass, or of some rows.
  std::vector<std::vector<float>> LogitsOfAll(int rows) { return LogitsOf(All(rows)); }
  std::vector<std::vector<float>> LogitsOf(absl::Span<const int> chosen) {
    std::vector<float> all(chosen.size() * config_.vocabulary);
    Must(Logits(chosen, TensorView<float>(all.data(), static_cast<int64_t>(chosen.size()), config_.vocabulary)));
    std::vector<std::vector<float>> logits(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      logits[i].assign(&all[i * config_.vocabulary], &all[i * config_.vocabulary] + config_.vocabulary);
    }
    return logits;
  }

  static std::vector<int> All(int rows) {
    std::vector<int> all(rows);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // Returns the logits of the last of `tokens`, computed one token per pass in a new sequence.
  std::vector<float> Plain(absl::Span<const TokenId> tokens, const LoraAdapter* adapter = nullptr) {
    const KvCache::SequenceId sequence = cache_->NewSequence();
    std::vector<float> logits;
    for (const TokenId& token : tokens) logits = Extend(sequence, {&token, 1}, adapter)[0];
    cache_->Release(sequence);
    return logits;
  }

 private:
  const ModelConfig config_;
  ThreadPool pool_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<PassRunner> runner_;
  HiddenRows last_;   // Rows of the last pass; none if the pass failed.
};

}  // namespace tessera
