#include "tessera/apps/lab/lever/lever_models.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/apps/bench/flash/share_budget.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/plan/draft_or_pins.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/runtime/draft/draft_vocabulary.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/plan/pass_work.h"

namespace tessera {
namespace {

constexpr int kTreeTokens = 256;                        // In the draft's cache, in addition to the sequence.
constexpr int64_t kPredictorBytes = int64_t{1} << 20;   // Memory of a predictor in addition to the size of the file.

absl::Status LoadAll(Engine& engine) {
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  WarnOfShortages(engine);
  return absl::OkStatus();
}

}  // namespace

LeverModels::LeverModels(const Options& options, int threads) : options_(options), pool_(threads) {
  options_.target.compute.pool = &pool_;
}

absl::StatusOr<std::unique_ptr<LeverModels>> LeverModels::Load(const Options& options) {
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(options.target.compute));
  WarnOfThreads(options.target.compute.threads, threads);
  auto models = std::unique_ptr<LeverModels>(new LeverModels(options, threads));
  if (!options.draft_model.empty()) RETURN_IF_ERROR(models->LoadDraft());
  RETURN_IF_ERROR(models->LoadTarget());
  RETURN_IF_ERROR(models->LoadPredictors());
  if (options.pins_draft) RETURN_IF_ERROR(models->LoadPinned());
  if (options.chooses) RETURN_IF_ERROR(models->Choose());
  return models;
}

absl::StatusOr<std::string> LeverModels::DraftPath() {
  ASSIGN_OR_RETURN(const DraftSource source, ParseDraftModel(options_.draft_model));
  if (source.layers > 0 || source.IsHead()) {
    return WrongUsage("draft_model", options_.draft_model, "a model's file, or a copy of one: self:q3, self:q3:FILE");
  }
  if (source.copy.empty()) return source.file;
  ASSIGN_OR_RETURN(const LowBitCopy copy, LowBitCopyOf(source.file.empty() ? options_.target.model_path : source.file, source.copy));
  RETURN_IF_ERROR(copy.Prepare(pool_, ShownDraftMessages()));
  return copy.path();
}

absl::Status LeverModels::LoadDraft() {
  const EngineOptions& target = options_.target;
  ASSIGN_OR_RETURN(const std::string path, DraftPath());
  EngineOptions draft = {.model_path = path, .cancel = target.cancel};
  draft.compute.pool = &pool_;
  draft.compute.kernels = target.compute.kernels;
  draft.cache = {.context = target.cache.context, .cache_tokens = target.cache.context + kTreeTokens, .kv_format = target.cache.kv_format};
  draft.workload.logit_rows += Session::kLogitRows;
  const int64_t before = OwnMemoryBytes().value_or(0);
  absl::StatusOr<std::unique_ptr<Engine>> opened = Engine::Open(draft);
  RETURN_IF_ERROR(ForFile("draft_model", opened.status()));
  draft_ = *std::move(opened);
  RETURN_IF_ERROR(LoadAll(*draft_));
  draft_rest_ = std::max<int64_t>(0, draft_->memory().Total() - (OwnMemoryBytes().value_or(0) - before));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LeverModels::PredictorBytes() const {
  int64_t bytes = 0;
  for (const std::string& path : options_.predictors) {
    const absl::StatusOr<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::Open(path);
    RETURN_IF_ERROR(ForFile("prune", file.status()));
    bytes += (*file)->size() + kPredictorBytes;
  }
  return bytes;
}

absl::Status LeverModels::LoadPredictors() {
  const LoadedModel& model = target_->model();
  for (const std::string& path : options_.predictors) {
    absl::StatusOr<ExitPredictor> predictor = ExitPredictor::Load(path, model.config(), model.layout(), model.weights());
    RETURN_IF_ERROR(ForFile("prune", predictor.status()));
    predictors_.push_back(*std::move(predictor));
  }
  return absl::OkStatus();
}

LeverEngines LeverModels::engines() {
  LeverEngines engines = {.target = target_.get(), .pinned = pinned_.get(), .draft = expander_.get()};
  for (size_t i = 0; i < predictors_.size(); ++i) engines.predictors.push_back({options_.predictors[i], &predictors_[i]});
  return engines;
}

absl::Status LeverModels::LoadTarget() {
  EngineOptions& target = options_.target;
  const Workload plain = target.workload;
  ASSIGN_OR_RETURN(const int64_t predictor_bytes, PredictorBytes());
  if (options_.drafts) {
    PlanDrafting(options_.retrieval ? "auto" : "lookup", /*history_bytes=*/0, target);
    const int64_t rest = draft_rest_ + predictor_bytes;
    target.workload.drafting_bytes = [drafters = target.workload.drafting_bytes, rest](int context, int vocabulary) {
      return drafters(context, vocabulary) + rest;
    };
  }
  if (options_.ring_share > 0) {
    target.streaming.pin = PinPolicy::kNone;
    ASSIGN_OR_RETURN(target.streaming.memory_budget, BudgetForShare(target, options_.ring_share));
  }
  if (options_.weights_share > 0) {
    const int64_t of_draft = draft_ == nullptr ? 0 : draft_->memory().Total();
    ASSIGN_OR_RETURN(target.streaming.memory_budget, BudgetForShare(target, options_.weights_share, of_draft));
  }
  own_before_target_ = OwnMemoryBytes().value_or(0);
  ASSIGN_OR_RETURN(target_, Engine::Open(target));
  if (options_.chooses) {
    ASSIGN_OR_RETURN(plan_, target_->planner().PlanBudget(target.streaming.memory_budget));
    ASSIGN_OR_RETURN(speeds_, PassSpeeds::Measure(*target_, plan_));
    LOG_IF(WARNING, !speeds_.warning.empty()) << speeds_.warning;
  }
  if (draft_ != nullptr) {
    RETURN_IF_ERROR(ForField("draft_model", CheckSameVocabulary(target_->model(), draft_->model())));
    ASSIGN_OR_RETURN(expander_, ModelExpander::Create(draft_, {.vocabulary = target_->config().vocabulary, .costs = &draft_costs_}));
  }
  RETURN_IF_ERROR(LoadAll(*target_));
  target.workload = plain;   // The workload of the engine without drafts.
  return absl::OkStatus();
}

// Loads the second target. Memory that the process now has for the other engines does not count, and the draft's memory is available for
// pins.
absl::Status LeverModels::LoadPinned() {
  EngineOptions pinned = options_.target;
  const int64_t others = OwnMemoryBytes().value_or(0) - own_before_target_;
  pinned.streaming.memory_budget += others + draft_->memory().Total();
  if (pinned.streaming.pin == PinPolicy::kNone) pinned.streaming.pin = PinPolicy::kAuto;
  if (options_.pins_retrieve) PlanDrafting("auto", /*history_bytes=*/0, pinned);
  ASSIGN_OR_RETURN(pinned_, Engine::Open(pinned));
  return LoadAll(*pinned_);
}

absl::Status LeverModels::Choose() {
  if (speeds_.flash_bytes_per_second <= 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const BudgetPlan pinned, pinned_->planner().PlanBudget(pinned_->options().streaming.memory_budget));
  const double draft_bytes = WeightWorkOf(*draft_, {.rows = 1}).weight_bytes;
  choice_ = ChooseDraft(DraftInputsFor(speeds_, plan_.weights, pinned.weights, draft_bytes));
  return absl::OkStatus();
}

LeverMemory LeverModels::memory() const {
  LeverMemory memory = {.budget = options_.target.streaming.memory_budget};
  if (draft_ != nullptr) memory.draft = draft_->memory().Total();
  for (const ExitPredictor& predictor : predictors_) memory.predictors += predictor.bytes();
  if (const LayerStreamer* const streamer = target_->model().streamer(); streamer != nullptr) {
    const LayerStreamer::Stats stats = streamer->stats();
    memory.weights = StoredWeightBytes(*target_);
    memory.ring = stats.ring_bytes;
    memory.pins = stats.pinned_bytes;
  }
  if (pinned_ != nullptr) {   // Without a streamer all weights stay in memory.
    const LayerStreamer* const streamer = pinned_->model().streamer();
    memory.pins_instead = streamer == nullptr ? StoredWeightBytes(*pinned_) : streamer->stats().pinned_bytes;
  }
  return memory;
}

}  // namespace tessera
