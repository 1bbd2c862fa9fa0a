#include "tessera/runtime/engine.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"

namespace tessera {
namespace {

constexpr int kMostContext = 1 << 24;

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(const EngineOptions& options, ThreadPool& pool) {
  if (options.path == ComputePath::kReference) return std::make_unique<ReferenceDevice>(&pool);
  HostDevice::Options host;
  ASSIGN_OR_RETURN(host.path, KernelPathFromName(options.kernels));
  return std::make_unique<HostDevice>(pool, host);
}

}  // namespace

absl::StatusOr<int> ThreadsOf(const EngineOptions& options) {
  if (options.threads >= 0 && options.threads <= ThreadPool::kMaxThreads) {
    return options.threads > 0 ? options.threads : std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, ThreadPool::kMaxThreads);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--threads: found ", options.threads, ", expected 0 (all cores) to ", ThreadPool::kMaxThreads));
}

absl::StatusOr<int> ContextOf(const EngineOptions& options, const ModelConfig& config) {
  if (options.context == 0) return std::min(config.context_length, kDefaultContext);
  if (options.context > 0 && options.context <= kMostContext) return options.context;
  return absl::InvalidArgumentError(absl::StrCat("--context: found ", options.context, ", expected 0 (the model's own, ",
                                                 config.context_length, ") to ", kMostContext));
}

absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name) {
  if (name == "fast") return ComputePath::kFast;
  if (name == "reference") return ComputePath::kReference;
  return absl::InvalidArgumentError(absl::StrCat("--path: found \"", name, "\", expected fast or reference"));
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Load(const EngineOptions& options) {
  auto engine = std::unique_ptr<Engine>(new Engine());
  RETURN_IF_ERROR(engine->Open(options));
  RETURN_IF_ERROR(engine->Build());
  return engine;
}

absl::Status Engine::Open(const EngineOptions& options) {
  options_ = options;
  if (options.row_capacity < 1 || options.row_capacity > 65536) {
    return absl::InvalidArgumentError(absl::StrCat("row capacity: found ", options.row_capacity, ", expected 1 to 65536"));
  }
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(options));
  ASSIGN_OR_RETURN(file_, GgufFile::Open(options.model_path));
  ASSIGN_OR_RETURN(config_, ReadModelConfig(*file_));
  ASSIGN_OR_RETURN(context_, ContextOf(options, config_));
  ASSIGN_OR_RETURN(tokenizer_, Tokenizer::FromGguf(*file_));
  pool_ = std::make_unique<ThreadPool>(threads);
  return absl::OkStatus();
}

absl::Status Engine::Build() {
  TimelineScope scope(options_.timeline, Zone::kLoad, 0);
  ASSIGN_OR_RETURN(device_, MakeDevice(options_, *pool_));
  ASSIGN_OR_RETURN(layout_, WeightLayout::Plan(*file_, config_, device_->weight_encoding()));
  ASSIGN_OR_RETURN(source_, LoadResident(*file_, layout_, *pool_));
  KvCache::Options cache;
  cache.layers = static_cast<int>(config_.layers.size());
  cache.heads = config_.kv_heads;
  cache.head_size = config_.head_size;
  cache.slots = static_cast<int>(AlignUp(context_, KvView::kSlotsPerBlock));
  cache.format = device_->kv_format();
  ASSIGN_OR_RETURN(cache_, KvCache::Create(cache));
  const int row_capacity = std::min(options_.row_capacity, context_);
  ASSIGN_OR_RETURN(forward_, Forward::Create(config_, layout_, *source_, *device_,
                                             {.row_capacity = row_capacity, .timeline = options_.timeline}));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Session>> Engine::NewSession() {
  return std::unique_ptr<Session>(new Session(*this, cache_->NewSequence()));
}

}  // namespace tessera
