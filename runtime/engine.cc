#include "tessera/runtime/engine.h"

#include <algorithm>
#include <future>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/throttled_device.h"

namespace tessera {
namespace {

constexpr int kMostContext = 1 << 24;
constexpr int kRowStep = 32;
constexpr int kLeastRows = 64;  // With fewer a prompt would take notably longer: then its scratch is what it is.
constexpr int64_t kReserve = int64_t{8} << 20;
constexpr int64_t kMiB = int64_t{1} << 20;

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(const EngineOptions& options, ThreadPool& pool) {
  if (options.path == ComputePath::kReference) return std::make_unique<ReferenceDevice>(&pool);
  HostDevice::Options host;
  ASSIGN_OR_RETURN(host.path, KernelPathFromName(options.kernels));
  host.kv_format = options.kv_format;
  return std::make_unique<HostDevice>(pool, host);
}

}  // namespace

absl::StatusOr<int> ThreadsOf(const EngineOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return WrongUsage("threads", options.threads, absl::StrCat("0 (all CPUs) to ", ThreadPool::kMaxThreads));
  }
  const int cpus = std::min(AvailableCpus(), ThreadPool::kMaxThreads);
  return options.threads == 0 ? cpus : std::min(options.threads, cpus);
}

absl::StatusOr<int> ContextOf(const EngineOptions& options, const ModelConfig& config) {
  if (options.context == 0) return std::min(config.context_length, kDefaultContext);
  if (options.context > 0 && options.context <= kMostContext) return options.context;
  return WrongUsage("context", options.context, absl::StrCat("0 (the model's own, ", config.context_length, ") to ", kMostContext));
}

absl::StatusOr<KvFormat> KvFormatFromName(absl::string_view name) {
  if (name == "f16") return KvFormat::kHalf;
  if (name == "q8") return KvFormat::kInt8;
  return WrongUsage("kv_format", Quoted(name), "f16 or q8");
}

absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name) {
  if (name == "fast") return ComputePath::kFast;
  if (name == "reference") return ComputePath::kReference;
  return WrongUsage("path", Quoted(name), "fast or reference");
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Load(const EngineOptions& options) {
  EngineOptions loads = options;
  loads.loads_weights = true;
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Open(loads));
  TimelineScope scope(options.timeline, Zone::kLoad, 0);
  RETURN_IF_ERROR(engine->MakeForSessions());
  RETURN_IF_ERROR(engine->AwaitWeights());
  return engine;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  auto engine = std::unique_ptr<Engine>(new Engine());
  RETURN_IF_ERROR(engine->Prepare(options));
  return engine;
}

absl::Status Engine::Prepare(const EngineOptions& options) {
  options_ = options;
  if (options.row_capacity < 0 || options.row_capacity > 65536) {
    return absl::InvalidArgumentError(absl::StrCat("row capacity: found ", options.row_capacity, ", expected 0 (by memory) to 65536"));
  }
  if (options.kv_format != KvFormat::kHalf && options.kv_format != KvFormat::kInt8) {
    return absl::InvalidArgumentError(
        absl::StrCat("kv_format: found ", KvFormatName(options.kv_format), ", expected FP16 or 8-bit"));
  }
  if (options.sessions < 1) {
    return absl::InvalidArgumentError(absl::StrCat("sessions: found ", options.sessions, ", expected 1 or more"));
  }
  ASSIGN_OR_RETURN(threads_, ThreadsOf(options));
  const bool reads = options.loads_weights && options.memory_budget == 0;
  ASSIGN_OR_RETURN(file_, ModelFile::Open(options.model_path, reads ? ModelFile::Weights::kAtOnce : ModelFile::Weights::kLater,
                                           options.cancel));
  // Beside the tokenizer, which takes as long. A system that has no thread to give has it done after that.
  std::future<absl::Status> rest = std::async(std::launch::async | std::launch::deferred, [this] { return PrepareToCompute(); });
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = ReadTokenizer(file());
  RETURN_IF_ERROR(rest.get());
  ASSIGN_OR_RETURN(tokenizer_, std::move(tokenizer));
  process_bytes_ = OwnMemoryBytes();
  return absl::OkStatus();
}

absl::Status Engine::PrepareToCompute() {
  ASSIGN_OR_RETURN(config_, ReadModelConfig(file()));
  ASSIGN_OR_RETURN(context_, ContextOf(options_, config_));
  if (options_.pool == nullptr) own_pool_ = std::make_unique<ThreadPool>(threads_);
  pool_ = options_.pool != nullptr ? options_.pool : own_pool_.get();
  if (options_.device == nullptr) {
    ASSIGN_OR_RETURN(own_device_, MakeDevice(options_, *pool_));
  }
  device_ = options_.device != nullptr ? options_.device : own_device_.get();
  ASSIGN_OR_RETURN(layout_, file_->PlanWeights(config_, device_->weight_encoding()));
  ASSIGN_OR_RETURN(no_weights_, ResidentSource::Create({}));
  return ChooseRows();
}

void Engine::FollowCpus() {
  if (own_pool_ == nullptr) return;
  const int threads = ThreadsOf(options_).value();  // Prepare has checked the options.
  if (threads == threads_) return;
  threads_ = threads;
  own_pool_->Resize(threads);
}

absl::Status Engine::ChooseRows() {
  rows_ = std::min(options_.row_capacity > 0 ? options_.row_capacity : kDefaultRowCapacity, context_);
  while (true) {
    absl::StatusOr<CompiledModel> model = CompiledModel::Create(config_, layout_, {.row_capacity = rows_});
    RETURN_IF_ERROR(OfThisFile(model.status()));
    const int64_t scratch = device_->ScratchBytes(model->graphs(), context_) + Forward::ScratchBytes(config_, rows_);
    if (options_.row_capacity > 0 || rows_ <= kLeastRows || scratch <= kDefaultScratch) return MakeForward(*std::move(model));
    const int64_t fitting = rows_ * kDefaultScratch / scratch / kRowStep * kRowStep;
    // Graphs are for no more than kRowsTogether: with more rows than that, little of the scratch is theirs.
    rows_ = rows_ > kRowsTogether ? kRowsTogether : std::max<int>(kLeastRows, std::min<int64_t>(fitting, rows_ - kRowStep));
  }
}

KvCache::Options Engine::CacheOptions() const {
  return {.layers = static_cast<int>(config_.layers.size()),
          .heads = config_.kv_heads,
          .head_size = config_.head_size,
          .slots = static_cast<int>(AlignUp(context_, KvView::kSlotsPerBlock)),
          .format = device_->kv_format(),
          .windows = WindowsOf(config_),
          .largest_pass = rows_,
          .sequences = options_.sessions,
          .scatter_seed = options_.scatter_seed};
}

absl::Status Engine::MakeForward(CompiledModel model) {
  absl::StatusOr<std::unique_ptr<Forward>> forward = Forward::Create(
      config_, layout_, std::move(model), *no_weights_, *device_, {.timeline = options_.timeline, .cancel = options_.cancel});
  RETURN_IF_ERROR(OfThisFile(forward.status()));
  forward_ = *std::move(forward);
  return absl::OkStatus();
}

absl::Status Engine::OfThisFile(const absl::Status& status) const {
  if (status.ok()) return status;
  const absl::string_view message = status.message();
  if (!absl::IsResourceExhausted(status)) return absl::Status(status.code(), absl::StrCat(file_->path(), ": ", message));
  return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat(file_->path(), ": scratch of a pass over a context of ", context_,
                                                                        " tokens: ", message)));
}

absl::Status Engine::LoadWeights() {
  TimelineScope scope(options_.timeline, Zone::kLoad, 0);
  return MakeForSessions();
}

absl::Status Engine::CheckWeights() {
  CHECK(source_ != nullptr) << "CheckWeights: the weights are not loaded";
  return source_->loading() == nullptr ? absl::OkStatus() : source_->loading()->AwaitChecked();
}

absl::Status Engine::AwaitWeights() {
  CHECK(source_ != nullptr) << "AwaitWeights: the weights are not loaded";
  return source_->loading() == nullptr ? absl::OkStatus() : source_->loading()->AwaitResident();
}

double Engine::loading_seconds() const {
  CHECK(source_ != nullptr) << "loading_seconds: the weights are not loaded";
  return source_->loading() == nullptr ? 0 : source_->loading()->LoadingSeconds();
}

absl::Status Engine::MakeForSessions() {
  CHECK(source_ == nullptr) << "LoadWeights: called a second time";
  RETURN_IF_ERROR(OpenSource());
  forward_->SetSource(*source_);
  ASSIGN_OR_RETURN(cache_, KvCache::Create(CacheOptions()));
  return absl::OkStatus();
}

absl::Status Engine::OpenSource() {
  logits_at_once_ = Session::kLogitRows;
  if (options_.memory_budget == 0) {
    ASSIGN_OR_RETURN(source_, file_->LoadWeights(layout_, *pool_, options_.cancel));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(plan_, PlanBudget(options_.memory_budget));
  logits_at_once_ = std::max(plan_.logit_rows - 1, 1);
  if (file_->packed() == nullptr) {
    ASSIGN_OR_RETURN(source_, file_->LoadWeights(layout_, *pool_));
    return absl::OkStatus();
  }
  if (options_.open_source) {
    ASSIGN_OR_RETURN(source_, options_.open_source(*file_->packed(), plan_.weights));
    return absl::OkStatus();
  }
  LayerStreamer::Options options;
  options.wrap_device = options_.wrap_device;
  if (!options_.flash.empty()) {
    ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile(options_.flash));
    options.wrap_device = [flash, wrap = options_.wrap_device](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
      return std::make_unique<ThrottledDevice>(wrap == nullptr ? std::move(device) : wrap(std::move(device)), flash);
    };
  }
  options.pins = plan_.weights.pins;
  options.parts_only = plan_.weights.parts_only;
  options.ring_bytes = plan_.weights.ring_bytes;
  options.verify = options_.verify;
  options.io = options_.io;
  options.probe_in_child = options_.probe_in_child;
  options.raise_priority = options_.raise_priority;
  options.timeline = options_.timeline;
  options.cancel = options_.cancel;
  ASSIGN_OR_RETURN(std::unique_ptr<LayerStreamer> streamer, LayerStreamer::Open(*file_->packed(), std::move(options)));
  streamer_ = streamer.get();
  source_ = std::move(streamer);
  return absl::OkStatus();
}

absl::StatusOr<BudgetPlan> Engine::PlanBudget(int64_t budget) const {
  const int most_logits = options_.logit_rows;
  const int least_logits = options_.least_logit_rows > 0 ? std::min(options_.least_logit_rows, most_logits) : most_logits;
  BudgetPlan plan = {.budget = budget, .process = process_bytes_, .logit_rows = least_logits, .logits = least_logits * LogitRowBytes(),
                     .drafting = PlanDrafting(), .reserve = kReserve};
  ASSIGN_OR_RETURN(plan.memory, PlanMemory());
  plan.memory.weights = 0;
  const StreamNeeds needs = WeightNeedsOf(config_, layout_);
  const bool packed = file_->packed() != nullptr;
  const int64_t needed = plan.Total() + (packed ? LeastStreamBytes(needs) : needs.total_bytes);
  plan.least = AlignUp(needed + kMiB, kMiB);  // What a process has of its own differs a little from run to run.
  if (budget < needed) {
    const char* less = packed ? "" : ", less of a packed model, which is streamed from its file";
    const std::string found = absl::StrCat(file_->path(), ": found ", FormatByteSize(plan.budget), ", expected at least ",
                                           plan.least / kMiB, " MiB", less, ", of which keys and values for a context of ", context_,
                                           " tokens take ", FormatByteSize(plan.memory.cache));
    return ForField("memory_budget", LimitedBy("context", absl::ResourceExhaustedError(found)));
  }
  plan.logit_rows += static_cast<int>(std::min<int64_t>(most_logits - least_logits, (budget - needed) / LogitRowBytes()));
  plan.logits = plan.logit_rows * LogitRowBytes();
  plan.memory.weights = needs.total_bytes;
  if (!packed) return plan;
  plan.memory.weights = 0;
  ASSIGN_OR_RETURN(plan.weights, PlanStreaming(needs, budget - plan.Total(), options_.pin));
  plan.memory.weights = plan.weights.bytes;
  if (options_.logits_of_each) RETURN_IF_ERROR(PlanLogitRows(needs, plan));
  return plan;
}

absl::Status Engine::PlanLogitRows(const StreamNeeds& needs, BudgetPlan& plan) const {
  const auto bytes_of_pass = [&](const StreamPlan& weights, int at_once) {
    return BytesOfPass(needs, weights, static_cast<int>(CeilDiv(rows_, at_once)));
  };
  const int fewest = std::max(plan.logit_rows - 1, 1);
  const int64_t row_bytes = LogitRowBytes(), fewest_bytes = plan.logits, room = plan.budget - plan.Total() + plan.memory.weights;
  int64_t least = bytes_of_pass(plan.weights, fewest);
  for (int rows = 2 * fewest; rows < 2 * rows_; rows *= 2) {
    const int at_once = std::min(rows, rows_);
    const int64_t more = (at_once - fewest) * row_bytes;
    if (room - more < LeastStreamBytes(needs)) break;
    ASSIGN_OR_RETURN(StreamPlan weights, PlanStreaming(needs, room - more, options_.pin));
    const int64_t bytes = bytes_of_pass(weights, at_once);
    if (bytes >= least) continue;
    least = bytes;
    plan.logit_rows = at_once + 1;
    plan.logits = fewest_bytes + more;
    plan.weights = std::move(weights);
  }
  plan.memory.weights = plan.weights.bytes;
  return absl::OkStatus();
}

absl::StatusOr<BudgetPlan> Engine::ShrinkMemory(int64_t budget) {
  const std::lock_guard<std::mutex> lock(shrinking_);
  if (streamer_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("less memory: ", file_->path(), ": found weights that stay in memory, expected a packed model under a budget"));
  }
  const StreamNeeds needs = WeightNeedsOf(config_, layout_);
  const int64_t others = plan_.Total() - plan_.memory.weights, least = others + LeastShrunkBytes(needs, plan_.weights);
  if (budget < least) {
    return absl::ResourceExhaustedError(absl::StrCat("less memory: ", file_->path(), ": found ", FormatByteSize(budget),
                                                     ", expected at least ", CeilDiv(least, kMiB), " MiB"));
  }
  ASSIGN_OR_RETURN(StreamPlan weights, ShrinkStreaming(needs, plan_.weights, budget - others, options_.pin));
  std::vector<int> unpinned;
  for (int unit = 0; unit < streamer_->units(); ++unit) {
    if (plan_.weights.pins.pinned[unit] && !weights.pins.pinned[unit]) unpinned.push_back(unit);
  }
  RETURN_IF_ERROR(streamer_->Unpin(unpinned));
  plan_.budget = std::min(plan_.budget, budget);
  plan_.memory.weights = weights.bytes;
  plan_.weights = std::move(weights);
  return plan_;
}

absl::StatusOr<EngineMemory> Engine::PlanMemory() const {
  ASSIGN_OR_RETURN(const int64_t cache, KvCache::BytesFor(CacheOptions()));
  return EngineMemory{.weights = layout_.TotalBytes(),
                      .cache = cache,
                      .graphs = device_->ScratchBytes(forward_->model().graphs(), context_),
                      .hidden_states = forward_->scratch_bytes()};
}

int64_t Engine::PlanDrafting() const {
  return options_.drafting_bytes == nullptr ? 0 : options_.drafting_bytes(context_, config_.vocabulary);
}

EngineMemory Engine::memory() const {
  CHECK(source_ != nullptr) << "memory: the weights are not loaded";
  const LayerStreamer::Stats streamed = streamer_ != nullptr ? streamer_->stats() : LayerStreamer::Stats();
  return {.weights = streamer_ == nullptr ? layout_.TotalBytes() : streamed.pinned_bytes + streamed.ring_bytes + LayerStreamer::kPartsBytes,
          .cache = cache_->bytes(),
          .graphs = device_->ScratchBytes(forward_->model().graphs(), context_),
          .hidden_states = forward_->scratch_bytes()};
}

absl::StatusOr<std::unique_ptr<Session>> Engine::NewSession() {
  return std::unique_ptr<Session>(new Session(*this, cache_->NewSequence()));
}

}  // namespace tessera
