#include "tessera/runtime/engine/core.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/clock.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/npu/hmx/hmx_device.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/internal/block_device_wrap.h"
#include "tessera/runtime/engine/internal/model_sum.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/storage/resident_source.h"

namespace tessera {
namespace {

// Returns the row counts of graphs. A device that computes all rows of a graph gets graphs of few rows, too: for a token, a draft tree and
// the end of a prompt. Other devices get the requested graphs, to be switched.
std::vector<int> GraphRowsFor(const Device& device, const ComputeOptions& compute) {
  if (!compute.graph_rows.empty() || device.row_policy() != RowPolicy::kExact) return compute.graph_rows;
  return {1, 8, 64};
}

absl::StatusOr<int> ContextOf(int context, const ModelConfig& config) {
  if (context == 0) return std::min(config.context_length, kDefaultContext);
  if (config.longest_context > 0 && context > config.longest_context) {
    return WrongUsage("context", context, absl::StrCat("at most ", config.longest_context,
                                                       ", the model's sliding window: its file does not say which layers have it"));
  }
  if (context > 0 && context <= kMostContext) return context;
  return WrongUsage("context", context, absl::StrCat("0 (the model's own, ", config.context_length, ") to ", kMostContext));
}

int KvBlockOf(const ComputeOptions& compute) { return compute.kv_block == 0 ? HmxDevice::kDefaultKvBlock : compute.kv_block; }

absl::StatusOr<std::unique_ptr<Device>> MakePlainDevice(const EngineOptions& options, ThreadPool& pool) {
  if (options.compute.make_device != nullptr) return options.compute.make_device(pool);
  if (options.compute.path == ComputePath::kReference) return std::make_unique<ReferenceDevice>(&pool);
  ASSIGN_OR_RETURN(const KernelPath path, KernelPathFromName(options.compute.kernels));
  if (options.compute.path == ComputePath::kNpu) {
    return std::make_unique<HmxDevice>(pool, HmxDevice::Options{.path = path, .kv_block = KvBlockOf(options.compute)});
  }
  return std::make_unique<HostDevice>(pool, HostDevice::Options{.path = path, .kv_format = options.cache.kv_format});
}

absl::StatusOr<std::unique_ptr<Device>> MakeDevice(const EngineOptions& options, ThreadPool& pool) {
  ASSIGN_OR_RETURN(std::unique_ptr<Device> device, MakePlainDevice(options, pool));
  if (options.compute.wrap_device == nullptr) return device;
  return options.compute.wrap_device(std::move(device));
}

// Returns the recipe of the options. nullopt: the file's recipe, or the default one.
absl::StatusOr<std::optional<WeightRecipe>> RecipeOf(const ComputeOptions& compute, const Device& device) {
  if (compute.recipe.empty()) return std::nullopt;
  if (device.weight_encoding() != WeightEncoding::kTiles) {
    return WrongUsage("recipe", absl::StrCat(compute.recipe, " with the device ", device.name(), ", which takes no tiles"),
                      "one that does");
  }
  absl::StatusOr<WeightRecipe> recipe = WeightRecipe::Parse(compute.recipe);
  RETURN_IF_ERROR(ForField("recipe", recipe.status()));
  return *std::move(recipe);
}

// Checks that the file has the weights in their computed form. Only from such a file can graphs be read one by one.
absl::Status CheckHoldsGraphs(const LoadedModel& model) {
  const ModelFile& file = model.file();
  if (file.HoldsUnitsOf(model.layout())) return absl::OkStatus();
  const WeightRecipe& recipe = model.layout().recipe();
  return absl::InvalidArgumentError(absl::StrCat(
      file.path(), ": found ", file.packed() == nullptr ? "a GGUF file" : "weights in other forms, or more layers than are computed",
      ", expected a packed model, whose graphs can be read one by one: tessera_pack MODEL.gguf MODEL.tsr",
      recipe.keeps_all() ? "" : absl::StrCat(", with the recipe ", recipe.name())));
}

}  // namespace

EngineCore::EngineCore(const EngineOptions& options)
    : options_(options), timeline_(options.timeline),
      out_of_memory_(absl::ResourceExhaustedError("out of memory within a session's call: all sessions of this engine are lost")) {}

// Returns at most half the largest int: kMostContext and CheckOptions bound all operands.
absl::StatusOr<int> EngineCore::CacheTokensOf(const EngineOptions& options, int context) {
  const CacheOptions& cache = options.cache;
  if (cache.cache_tokens == 0) {
    ASSIGN_OR_RETURN(const int64_t shares, CheckedMul(std::min(cache.text_share, context), options.workload.sessions));
    return static_cast<int>(std::max<int64_t>(context, std::min<int64_t>(shares, kMostContext)));
  }
  if (cache.cache_tokens >= context) return cache.cache_tokens;
  return WrongUsage("cache_tokens", cache.cache_tokens, absl::StrCat("at least ", context, ", the context of one text (context)"));
}

absl::StatusOr<std::shared_ptr<EngineCore>> EngineCore::Open(const EngineOptions& options, ModelFile::Weights weights) {
  RETURN_IF_ERROR(CheckOptions(options));
  // In a forked process the core's threads can be neither asked to end nor joined.
  auto core = std::shared_ptr<EngineCore>(new EngineCore(options), [](EngineCore* ended) { if (!ended->is_forked()) delete ended; });
  RETURN_IF_ERROR(core->MakePool());
  ASSIGN_OR_RETURN(core->device_, MakeDevice(options, *core->pool_));
  ASSIGN_OR_RETURN(core->no_weights_, ResidentSource::Create({}));
  if (options.streaming.memory_budget > 0 || options.compute.graphs_hold_weights) weights = ModelFile::Weights::kLater;
  LoadedModel::Options loading = {.encoding = core->device_->weight_encoding(), .weights = weights,
                                  .importance = options.compute.importance, .first = options.first, .cancel = options.cancel};
  ASSIGN_OR_RETURN(loading.recipe, RecipeOf(options.compute, *core->device_));
  ASSIGN_OR_RETURN(core->model_, LoadedModel::Open(options.model_path, loading));
  if (options.streaming.memory_budget > 0) RETURN_IF_ERROR(core->model_->file().CheckStreams(core->model_->layout()));
  ASSIGN_OR_RETURN(core->context_, ContextOf(options.cache.context, core->model_->config()));
  ASSIGN_OR_RETURN(core->cache_tokens_, CacheTokensOf(options, core->context_));
  ASSIGN_OR_RETURN(const int rows, core->MakeRunner());
  RETURN_IF_ERROR(core->model_->AwaitTokenizer());
  core->MakePlanner(rows, core->ProcessBytes());
  RETURN_IF_ERROR(core->FitContext(rows));
  return core;
}

EngineCore::~EngineCore() {
  if (is_lost_) prefixes_.Abandon();
}

absl::Status EngineCore::Forked() {
  return absl::FailedPreconditionError(
      "engine: found a process that was forked after the engine was loaded, expected one that loads the engine itself");
}

absl::Status EngineCore::MakePool() {
  if (pool_ = options_.compute.pool; pool_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(threads_, ThreadsOf(options_.compute));
  own_pool_ = std::make_unique<ThreadPool>(threads_);
  pool_ = own_pool_.get();
  return absl::OkStatus();
}

void EngineCore::FollowCpus() {
  if (own_pool_ == nullptr) return;
  const int threads = ThreadsOf(options_.compute).value();  // CheckOptions has checked the options.
  if (threads == threads_) return;
  threads_ = threads;
  own_pool_->Resize(threads);
}

absl::Status EngineCore::OfThisFile(const absl::Status& status) const {
  if (status.ok()) return status;
  const std::string& path = model_->file().path();
  if (!absl::IsResourceExhausted(status)) return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat(path, ": scratch of a pass over a context of ", context_,
                                                                        " tokens: ", status.message())));
}

absl::Status EngineCore::MakeReadingDevice(const CompiledModel& compiled) {
  if (!options_.compute.graphs_hold_weights) return absl::OkStatus();
  RETURN_IF_ERROR(CheckHoldsGraphs(*model_));
  const StreamingOptions& streaming = options_.streaming;
  ReadingDevice::Options options = {.one_graph_of_each_block = options_.compute.switching.has_value(),
                                    .reading = {.verify = streaming.verify,
                                                .io = streaming.io,
                                                .probe_in_child = streaming.probe_in_child,
                                                .raise_priority = streaming.raise_priority,
                                                .timeline = timeline_,
                                                .cancel = options_.cancel}};
  ASSIGN_OR_RETURN(options.reading.wrap_device, BlockDeviceWrapOf(streaming, options_.hooks.get()));
  reading_ = std::make_unique<ReadingDevice>(*device_, *model_->file().packed(), compiled, std::move(options));
  return absl::OkStatus();
}

absl::StatusOr<int> EngineCore::MakeRunner() {
  const ModelConfig& config = model_->config();
  std::optional<CompiledModel> compiled;
  const auto scratch_of = [&](int rows) -> absl::StatusOr<int64_t> {
    absl::StatusOr<CompiledModel> model = CompiledModel::Create(
        config, model_->layout(), {.row_capacity = rows, .graph_rows = GraphRowsFor(*device_, options_.compute)});
    RETURN_IF_ERROR(OfThisFile(model.status()));
    compiled.emplace(*std::move(model));
    return device_->ScratchBytes(compiled->graphs(), LongestPath()) + PassRunner::ScratchBytes(config, rows);
  };
  ASSIGN_OR_RETURN(const int rows, ChooseRows(options_.compute.row_capacity, context_, scratch_of));
  RETURN_IF_ERROR(MakeReadingDevice(*compiled));
  absl::StatusOr<std::unique_ptr<PassRunner>> runner =
      PassRunner::Create(config, model_->layout(), *std::move(compiled), *no_weights_, device(),
                         {.timeline = timeline_, .cancel = options_.cancel, .exit_map = model_->exit_map(), .pool = pool_,
                          .loads_graphs = !options_.compute.switching.has_value()});
  RETURN_IF_ERROR(OfThisFile(runner.status()));
  runner_ = *std::move(runner);
  if (options_.compute.switching.has_value()) {
    ASSIGN_OR_RETURN(motion_, GraphMotion::Create(*runner_, *options_.compute.switching));
  }
  return rows;
}

std::optional<int64_t> EngineCore::HeldWeightBytes() const {
  if (reading_ == nullptr) return std::nullopt;
  const WeightLayout& layout = model_->layout();
  int64_t bytes = reading_->memory_bytes();
  for (int unit = 0; unit < layout.units(); ++unit) {
    if (!reading_->HoldsUnit(unit)) bytes += AlignUp(layout.UnitBytes(unit), AlignedBuffer::kAlignment);
  }
  return bytes;
}

int64_t EngineCore::GraphBytes() const { return device_->ScratchBytes(runner_->model().graphs(), LongestPath()); }

std::optional<int64_t> EngineCore::ProcessBytes() const {
  const bool is_given = options_.hooks != nullptr && options_.hooks->own_memory.has_value();
  return is_given ? options_.hooks->own_memory : OwnMemoryBytes();
}

void EngineCore::MakePlanner(int rows, std::optional<int64_t> process) {
  const ModelConfig& config = model_->config();
  MemoryPlanner::Inputs inputs;
  inputs.context = context_;
  inputs.rows = rows;
  inputs.pin = options_.streaming.pin;
  inputs.workload = options_.workload;
  inputs.cache = {.layers = static_cast<int>(config.layers.size()),
                  .heads = config.kv_heads,
                  .head_size = config.head_size,
                  .slots = static_cast<int>(AlignUp(cache_tokens_ + options_.workload.reserved_slots, KvView::kSlotsPerBlock)),
                  .format = device_->kv_format(),
                  .windows = WindowsOf(config),
                  .largest_pass = rows,
                  .sequences = options_.workload.sessions,
                  .scatter_seed = options_.hooks == nullptr ? 0 : options_.hooks->scatter_seed};
  inputs.graphs = GraphBytes();
  inputs.hidden_states = runner_->scratch_bytes();
  inputs.weights = HeldWeightBytes();
  inputs.process = process;
  planner_ = std::make_unique<MemoryPlanner>(*model_, std::move(inputs));
}

absl::Status EngineCore::LoadWeights() {
  CHECK(cache_ == nullptr) << "LoadWeights: called a second time";
  RETURN_IF_ERROR(OpenWeights());
  runner_->SetSource(model_->weights());
  ASSIGN_OR_RETURN(cache_, KvCache::Create(planner_->inputs().cache));
  return absl::OkStatus();
}

absl::Status EngineCore::OpenWeights() {
  logits_at_once_ = kSessionLogitRows;
  const bool has_budget = options_.streaming.memory_budget > 0;
  if (has_budget) {
    ASSIGN_OR_RETURN(plan_, planner_->PlanBudget(options_.streaming.memory_budget));
    logits_at_once_ = std::max(plan_.logit_rows - 1, 1);
  }
  if (reading_ != nullptr) {
    RETURN_IF_ERROR(reading_->Start());
    return model_->LoadUnits([this](int unit) { return !reading_->HoldsUnit(unit); });
  }
  if (!has_budget || model_->file().packed() == nullptr) return model_->LoadWeights(*pool_);
  return model_->StreamWeights(plan_.weights, options_.streaming, options_.hooks.get(), timeline_);
}

void EngineCore::SetTimeline(Timeline* timeline) {
  timeline_ = timeline;
  runner_->SetTimeline(timeline);
}

bool EngineCore::compacts_drafts() const { return options_.hooks == nullptr || options_.hooks->compact_drafts; }

EngineMemory EngineCore::memory() const {
  CHECK(cache_ != nullptr) << "memory: the weights are not loaded";
  return {.weights = planner_->inputs().weights.value_or(model_->weight_bytes()),
          .cache = cache_->bytes(),
          .graphs = GraphBytes(),
          .hidden_states = runner_->scratch_bytes(),
          .exit_map = model_->exit_map_bytes()};
}

int EngineCore::RoomFor(int most) {
  while (cache_->RoomFor(most) < most && prefixes_.EvictOldest()) {}
  return cache_->RoomFor(most);
}

absl::Status EngineCore::MakeRoom(int rows) {
  RoomFor(rows);
  return cache_->MakeRoom(rows);
}

absl::Status EngineCore::ShrinkCache(int64_t bytes) {
  const int fewest = LongestPath();
  if (planner_->inputs().cache.slots < fewest + KvView::kSlotsPerBlock) return absl::OkStatus();   // Room for one context stays.
  return Guarded([&]() -> absl::Status {
    const Hold hold = AwaitHold();
    RETURN_IF_ERROR(health());
    const int64_t least = cache_->bytes() - bytes;
    int wanted = cache_->slots();
    while (wanted > fewest && cache_->BytesAt(wanted) > least) wanted = std::max(wanted - KvView::kSlotsPerBlock, fewest);
    while (wanted < cache_->slots() && cache_->Shrink(wanted) > wanted && prefixes_.EvictOldest()) {}
    return absl::OkStatus();
  });
}

absl::StatusOr<BudgetPlan> EngineCore::ShrinkMemory(int64_t budget) {
  const std::lock_guard<std::mutex> lock(shrinking_);
  LayerStreamer* const streamer = model_->streamer();
  if (streamer == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("less memory: ", model_->file().path(), ": found weights that stay in memory, ",
                                                      "expected a packed model under a budget"));
  }
  if (const int64_t too_much = plan_.Total() - budget; too_much > 0) {
    BudgetPlan least = plan_;
    least.memory.cache = std::min(least.memory.cache, cache_->BytesAt(LongestPath()));
    RETURN_IF_ERROR(planner_->Shrink(least, budget).status());
    RETURN_IF_ERROR(ShrinkCache(too_much));
    plan_.memory.cache = cache_->bytes();
  }
  ASSIGN_OR_RETURN(BudgetPlan shrunk, planner_->Shrink(plan_, budget));
  std::vector<int> unpinned;
  for (int unit = 0; unit < streamer->units(); ++unit) {
    if (plan_.weights.pins.pinned[unit] && !shrunk.weights.pins.pinned[unit]) unpinned.push_back(unit);
  }
  RETURN_IF_ERROR(streamer->Unpin(unpinned));
  plan_ = std::move(shrunk);
  return plan_;
}

void EngineCore::BeginModelIdentity() {
  if (identity_.has_value() || model_sum_ != nullptr) return;
  model_sum_ = std::make_unique<ModelSum>(*model_);
  model_sum_->Start();
}

absl::StatusOr<Sha256Sum> EngineCore::ModelIdentity() {
  if (identity_.has_value()) return *identity_;
  const Clock& clock = RealClock();   // Real time: a modeled device's clock stands still here.
  const int64_t begin = clock.NowNanos();
  if (model_sum_ == nullptr) model_sum_ = std::make_unique<ModelSum>(*model_);
  absl::StatusOr<Sha256Sum> sum = model_sum_->Finish(*pool_);
  identity_cost_ = {.bytes = model_sum_->summed_bytes(), .waited_seconds = static_cast<double>(clock.NowNanos() - begin) * 1e-9};
  model_sum_ = nullptr;
  RETURN_IF_ERROR(sum.status());
  // Keys and values of later layers depend on the block size.
  if (options_.compute.path == ComputePath::kNpu && options_.compute.make_device == nullptr) {
    Sha256 hash;
    hash.Add(*sum);
    hash.AddNumber(static_cast<uint64_t>(KvBlockOf(options_.compute)));
    sum = hash.Take();
  }
  identity_ = *sum;
  return *identity_;
}

absl::StatusOr<EngineCore::Hold> EngineCore::TryHold() {
  if (is_forked()) return Forked();
  Hold hold(mutex_, std::try_to_lock);
  if (!hold.owns_lock() || pass_thread_ != std::thread::id()) {
    return absl::FailedPreconditionError("engine: found a call of another thread under way, expected one thread at a time");
  }
  RETURN_IF_ERROR(health());
  return hold;
}

absl::StatusOr<EngineCore::Hold> EngineCore::AwaitTurn() {
  if (is_forked()) return Forked();
  Hold hold(mutex_);
  if (pass_thread_ == std::this_thread::get_id()) {
    return absl::FailedPreconditionError("engine: found a pass under way in which this was called, expected it to end first");
  }
  pass_ended_.wait(hold, [this] { return pass_thread_ == std::thread::id(); });
  RETURN_IF_ERROR(health());
  return hold;
}

absl::StatusOr<HiddenRows> EngineCore::Finish(Pass& pass, absl::Span<const int> wanted) {
  return motion_ == nullptr ? pass.Finish(wanted) : motion_->Finish(pass, wanted);
}

absl::Status EngineCore::SetSwitching(const SwitchingOptions& options, std::vector<SwitchTimes> times) {
  ASSIGN_OR_RETURN(motion_, GraphMotion::Create(*runner_, options));
  return motion_->SetTimes(std::move(times));
}

absl::StatusOr<HiddenRows> EngineCore::FinishAll(Pass& pass) {
  if (motion_ == nullptr) return pass.FinishAll();
  const std::vector<int> all(pass.rows().begin(), pass.rows().end());
  return motion_->Finish(pass, all);
}

absl::StatusOr<Pass> EngineCore::Begin(absl::Span<const PassRow> rows, const std::atomic<bool>* cancel) {
  FollowCpus();
  return runner_->Begin(rows, *cache_, cancel);
}

EngineCore& CoreOf(const Engine& engine) { return *engine.core_; }
std::shared_ptr<EngineCore> SharedCoreOf(const Engine& engine) { return engine.core_; }

}  // namespace tessera
