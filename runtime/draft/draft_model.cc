#include "tessera/runtime/draft/draft_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/named_options.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/eagle_head.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/model/files/model_sampling.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/model/kv_cache.h"
#include "tessera/runtime/draft/draft_vocabulary.h"
#include "tessera/runtime/draft/eagle_expander.h"
#include "tessera/runtime/draft/forecast_draft.h"
#include "tessera/runtime/draft/model_expander.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/policies/tree_policy.h"

namespace tessera {
namespace {

constexpr char kModel[] = "draft_model", kLever[] = "lever", kPrune[] = "prune", kRejection[] = "rejection";
constexpr int kDrawn = 4;                               // Children of a node, where drafts are sampled.
constexpr int64_t kPredictorBytes = int64_t{1} << 20;   // What a predictor takes beside its file.
constexpr int kTreeTokens = 256;                        // In the draft's cache, for each text.
constexpr int64_t kDrafterBytes = int64_t{1} << 20;     // The pool of what was said, and counts.

absl::StatusOr<ModelConfig> ConfigOf(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  return ReadModelConfig(file->gguf());
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Layers are a part of the draft's source here.
absl::Status OfDraft(const absl::Status& status) {
  return FieldOf(status) == "layers" ? ForField(kModel, absl::Status(status.code(), status.message())) : status;
}

// Returns the temperature at which texts of the model are drawn. The error of a recommendation that is wrong.
absl::StatusOr<double> TemperatureOf(const GgufFile& file) {
  constexpr char kTemperature[] = "temperature";
  const ModelSampling model = SamplingOfModel(file);
  for (const RecommendedSampling::Wrong& each : model.wrong) {
    if (each.field == kTemperature) return each.problem;
  }
  return model.options.temperature;
}

}  // namespace

DraftModel::DraftModel(const DraftModelOptions& options) : options_(options), tree_(DraftTree(options)) {}
DraftModel::~DraftModel() = default;

absl::StatusOr<std::shared_ptr<DraftModel>> DraftModel::Create(const DraftModelOptions& options) {
  RETURN_IF_ERROR(CheckDraftOptions(options));
  if (options.draft_model.IsNone()) return nullptr;
  auto draft = std::shared_ptr<DraftModel>(new DraftModel(options));
  if (options.draft_model.HasForecasts()) {
    ASSIGN_OR_RETURN(draft->forecasts_, ForecastDraft::Create(options.draft_model.file, options.tree));
  }
  draft->may_be_left_out_ = options.may_be_left_out && options.speculate == "auto" && draft->forecasts_ == nullptr;
  if (options.accept == kRejection) draft->sampling_ = DraftSampling{.children = kDrawn};   // Begin() has the temperature.
  return draft;
}

// The function holds nothing of the draft, which holds the target's core.
void DraftModel::CountIn(EngineOptions& target) const {
  if (forecasts_ != nullptr) target.workload.reserved_slots = forecasts_->slots();
  const auto others = target.workload.drafting_bytes;
  target.workload.drafting_bytes = [others, counted = counted_](int context, int vocabulary) {
    return counted->bytes() + (others == nullptr ? 0 : others(context, vocabulary));
  };
}

absl::StatusOr<BudgetPlan> DraftModel::PlanWithoutIt(const Engine& target) const {
  const bool before = std::exchange(counted_->left_out, true);
  absl::StatusOr<BudgetPlan> plan = target.planner().PlanBudget(target.options().streaming.memory_budget);
  counted_->left_out = before;
  return plan;
}

void DraftModel::LeaveOut() {
  engine_.reset();
  head_.reset();
  counted_->left_out = true;
  const std::optional<int64_t> now = OwnMemoryBytes();
  counted_->remains = now.has_value() && own_before_.has_value() ? std::max<int64_t>(*now - *own_before_, 0) : 0;
}

absl::Status DraftModel::Begin(const Engine& target) {
  target_ = SharedCoreOf(target);
  own_before_ = OwnMemoryBytes();
  path_ = options_.draft_model.layers > 0 ? target_->options().model_path : options_.draft_model.file;
  RETURN_IF_ERROR(DrawAsTarget());
  return SizePredictor();
}

// Drafts are drawn at the temperature of the target's texts, which may be the model's.
absl::Status DraftModel::DrawAsTarget() {
  if (!sampling_.has_value()) return absl::OkStatus();
  double temperature = options_.temperature.value_or(0);
  if (!options_.temperature.has_value()) {
    ASSIGN_OR_RETURN(temperature, TemperatureOf(target_->model().gguf()));
  }
  RETURN_IF_ERROR(CheckAcceptedByRejection(temperature));
  sampling_->temperature = static_cast<float>(temperature);
  return absl::OkStatus();
}

absl::Status DraftModel::SizePredictor() {
  if (options_.prune.empty()) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::Open(options_.prune);
  RETURN_IF_ERROR(ForFile(kPrune, file.status()));
  counted_->parts.predictor = (*file)->size() + kPredictorBytes;
  return absl::OkStatus();
}

absl::Status DraftModel::LoadPredictor() {
  if (options_.prune.empty() || predictor_ != nullptr) return absl::OkStatus();
  const LoadedModel& model = target_->model();
  absl::StatusOr<ExitPredictor> predictor = ExitPredictor::Load(options_.prune, model.config(), model.layout(), model.weights());
  RETURN_IF_ERROR(ForFile(kPrune, predictor.status()));
  predictor_ = std::make_unique<ExitPredictor>(*std::move(predictor));
  return absl::OkStatus();
}

Pruning DraftModel::pruning() const {
  PruneOptions rule;
  if (options_.prune_threshold.has_value()) rule.threshold = static_cast<float>(*options_.prune_threshold);
  return {.predictor = predictor_.get(), .rule = rule};
}

absl::Status DraftModel::Open(const Engine& target) {
  RETURN_IF_ERROR(Begin(target));
  if (!options_.draft_model.copy.empty()) RETURN_IF_ERROR(PrepareCopy());
  return OpenFile();
}

absl::Status DraftModel::Plan(const Engine& target, int64_t vocabulary) {
  RETURN_IF_ERROR(Begin(target));
  if (!options_.draft_model.copy.empty()) {
    ASSIGN_OR_RETURN(const LowBitCopy copy, CopyFor());
    path_ = copy.path();
    if (!copy.Check().ok()) return PlanCopy(copy, vocabulary);
  }
  return OpenFile();
}

absl::StatusOr<LowBitCopy> DraftModel::CopyFor() const {
  const DraftSource& source = options_.draft_model;
  return LowBitCopy::Of(source.file.empty() ? target_->options().model_path : source.file, source.copy, options_.cache_folder);
}

absl::Status DraftModel::CheckRoomToCopy() const {
  const int64_t budget = target_->options().streaming.memory_budget;
  if (budget == 0 || budget - own_before_.value_or(0) >= LowBitCopy::kMakingBytes) return absl::OkStatus();
  const std::string needed = FormatByteSize(own_before_.value_or(0) + LowBitCopy::kMakingBytes);
  return NamingOptions({"memory_budget"}, ForField(kModel, absl::ResourceExhaustedError(absl::StrCat(
                                                               path_, ": found a memory budget of ", FormatByteSize(budget), ", expected ",
                                                               needed, " to make this copy, or a run without memory_budget before, which "
                                                               "makes it"))));
}

absl::Status DraftModel::PrepareCopy() {
  ASSIGN_OR_RETURN(const LowBitCopy copy, CopyFor());
  path_ = copy.path();
  if (!copy.Check().ok()) RETURN_IF_ERROR(CheckRoomToCopy());
  return copy.Prepare(target_->pool(), options_.messages);
}

// As many as all texts have in the target's cache, and their trees.
int DraftModel::CacheTokens() const {
  const int64_t texts = target_->options().workload.sessions, of_texts = texts * context_;
  const int64_t held = std::min<int64_t>(target_->planner().inputs().cache.slots, of_texts);
  return static_cast<int>(std::min<int64_t>(std::max<int64_t>(held, context_) + texts * kTreeTokens, kMostContext));
}

EngineOptions DraftModel::OptionsFor(const ModelConfig& config) {
  const EngineOptions& its = target_->options();
  context_ = std::min(target_->context(), config.context_length);
  if (config.longest_context > 0) context_ = std::min(context_, config.longest_context);
  if (context_ < target_->context()) {
    options_.messages.Note(absl::StrCat("The draft model has a context of ", context_, " tokens: longer texts go on without it."));
  }
  EngineOptions options = {.model_path = path_, .first = {.layers = options_.draft_model.layers, .map = options_.draft_model.map}};
  options.compute.pool = &target_->pool();
  options.compute.kernels = its.compute.kernels;
  options.cache = {.context = context_, .cache_tokens = CacheTokens(), .kv_format = its.cache.kv_format};
  options.workload.sessions = its.workload.sessions;
  options.cancel = its.cancel;
  return options;
}

absl::Status DraftModel::OpenFile() {
  if (forecasts_ != nullptr) return OpenForecasts();
  return options_.draft_model.IsHead() ? OpenHead() : OfDraft(OpenModel());
}

absl::Status DraftModel::OpenForecasts() {
  context_ = target_->context();
  RETURN_IF_ERROR(forecasts_->Open(target_->model()));
  counted_->parts.head = forecasts_->bytes();
  counted_->head_text = forecasts_->TextBytes(target_->model().config().vocabulary);
  return absl::OkStatus();
}

int DraftModel::HeadTokens() const { return std::min(EagleExpander::kMostTokens, context_); }

absl::Status DraftModel::OpenHead() {
  context_ = target_->context();
  ASSIGN_OR_RETURN(head_, EagleHead::Open(path_, target_->model().config()));
  counted_->parts.head = head_->bytes();
  counted_->head_text = EagleExpander::MostBytes(head_->shape(), HeadTokens());
  return absl::OkStatus();
}

absl::Status DraftModel::OpenModel() {
  engine_.reset();
  ASSIGN_OR_RETURN(const ModelConfig config, ConfigOf(path_));
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Open(OptionsFor(config)));
  RETURN_IF_ERROR(CheckSameVocabulary(target_->model(), engine->model()));
  if (options_.on_opened != nullptr) options_.on_opened(*engine);
  ASSIGN_OR_RETURN(const EngineMemory memory, engine->planner().Plan());
  const int64_t read = OwnMemoryBytes().value_or(0) - own_before_.value_or(0);
  counted_->parts = {.weights = memory.weights, .cache = memory.cache, .scratch = memory.graphs + memory.hidden_states,
                     .exit_map = memory.exit_map, .vocabulary = std::max<int64_t>(read - memory.exit_map, 0),
                     .predictor = counted_->parts.predictor};
  engine_ = std::move(engine);
  return absl::OkStatus();
}

// All but its weights is as the target's.
absl::Status DraftModel::PlanCopy(const LowBitCopy& copy, int64_t vocabulary) {
  const MemoryPlanner::Inputs& its = target_->planner().inputs();
  context_ = target_->context();
  KvCache::Options cache = its.cache;
  cache.slots = static_cast<int>(AlignUp(CacheTokens(), KvView::kSlotsPerBlock));
  cache.format = target_->options().cache.kv_format;
  ASSIGN_OR_RETURN(const int64_t cache_bytes, KvCache::BytesFor(cache));
  ASSIGN_OR_RETURN(const int64_t weights, copy.WeightBytes());
  counted_->parts = {.weights = weights, .cache = cache_bytes, .scratch = its.graphs + its.hidden_states, .vocabulary = vocabulary,
                     .predictor = counted_->parts.predictor};
  options_.messages.Note(absl::StrCat("A dry run makes no copy of the model: ", path_, " is not there."));
  return absl::OkStatus();
}

absl::Status DraftModel::LoadWeights() {
  RETURN_IF_ERROR(engine_->LoadWeights());
  return engine_->AwaitWeights();
}

absl::Status DraftModel::Load() {
  if (head_ != nullptr || forecasts_ != nullptr) return absl::OkStatus();
  const absl::Status loaded = LoadWeights();
  if (!absl::IsDataLoss(loaded) || options_.draft_model.copy.empty()) return loaded;
  options_.messages.Warn(absl::StrCat("this copy is made again: ", loaded.message()));
  engine_.reset();
  const DraftBytes planned = counted_->parts;
  ASSIGN_OR_RETURN(const LowBitCopy copy, CopyFor());
  RETURN_IF_ERROR(copy.Make(target_->pool(), options_.messages));
  RETURN_IF_ERROR(OpenFile());
  counted_->parts = planned;   // By now the process has the target's weights, too.
  return LoadWeights();
}

absl::StatusOr<std::unique_ptr<Expander>> DraftModel::NewExpander(int vocabulary) {
  if (head_ == nullptr) {
    ASSIGN_OR_RETURN(std::unique_ptr<ModelExpander> expander,
                     ModelExpander::Create(engine_, {.name = kDraftName, .vocabulary = vocabulary, .costs = &costs_,
                                                     .timeline = target_->timeline()}));
    return std::unique_ptr<Expander>(std::move(expander));
  }
  EagleExpander::Options options = EagleExpander::OptionsFor(*target_);
  options.most_tokens = HeadTokens();
  return std::unique_ptr<Expander>(std::make_unique<EagleExpander>(head_, std::move(options)));
}

absl::StatusOr<std::unique_ptr<Drafter>> DraftModel::NewDrafter(const DraftingSize& size) {
  if (!loaded_.has_value()) loaded_ = Load();
  RETURN_IF_ERROR(*loaded_);
  if (forecasts_ != nullptr) return forecasts_->NewDrafter(target_);
  ASSIGN_OR_RETURN(std::unique_ptr<Expander> expander, NewExpander(size.vocabulary));
  ASSIGN_OR_RETURN(std::unique_ptr<TreePolicy> policy, MakeTreePolicy(tree_, {.profile = size.costs}));
  const bool corrects = policy->name() == kLever;   // Other rules trust their draft, as they were published.
  // Each drafter has streams of its own, for as many texts as it may write.
  return std::make_unique<ExpandingDrafter>(
      std::move(expander), std::move(policy),
      ExpandingDrafter::Options{.corrects = corrects, .sampling = sampling_, .seed = options_.seed, .stream = drafters_++ << 32});
}

DrafterRegistry::Kind DraftModel::AsDrafter() {
  return {.name = kDraftName,
          .make = [draft = shared_from_this()](const DraftingSize& size) { return draft->NewDrafter(size); },
          .most_bytes = [counted = counted_](const DraftingSize& size) { return counted->OfText(size); }};   // Not what the maker holds.
}

int64_t DraftModel::Counted::OfText(const DraftingSize& size) const {
  if (left_out) return 0;
  return kDrafterBytes + (head_text > 0 ? head_text : ModelExpander::MostBytes(size.context, size.vocabulary));
}

int64_t DraftModel::tree_bytes() const {
  const DraftingSize size = {.context = target_->context(), .vocabulary = target_->model().config().vocabulary};
  return target_->options().workload.sessions * counted_->OfText(size);
}

std::string DraftModel::drafter_name() const {
  if (forecasts_ != nullptr) return ForecastDrafter::kName;
  return options_.draft_model.IsHead() ? EagleExpander::kName : kDraftName;
}

std::string DraftModel::Describe() const {
  if (forecasts_ != nullptr) return forecasts_->Describe();
  if (head_ != nullptr) return absl::StrCat(path_, ", a head of ", head_->shape().vocabulary, " tokens");
  const std::string part = options_.draft_model.layers > 0 ? absl::StrCat(", the first ", options_.draft_model.layers, " layers") : "";
  return absl::StrCat(path_, part, ", context ", context_, " tokens");
}

std::string DraftModel::StatsLine() const {
  if (!loaded_.has_value() || !loaded_->ok()) return "";
  if (forecasts_ != nullptr) return absl::StrCat("forecasts: ", forecasts_->Describe(), ", tree ", tree_, "\n");
  if (head_ != nullptr) return absl::StrCat("draft head: ", FileName(path_), ", ", FormatByteSize(head_->bytes()), "\n");
  const EngineStats stats = engine_->stats();
  return absl::StrCat("draft model: ", FileName(path_), ", ", stats.passes, " passes over ", stats.rows, " tokens\n");
}

absl::Status DraftModel::Explained(const absl::Status& status) const {
  if (!absl::IsResourceExhausted(status) || FieldOf(status) != "memory_budget") return status;
  absl::Status explained(status.code(), absl::StrCat(status.message(), ", and the draft model (", path_, ") ", FormatByteSize(bytes())));
  status.ForEachPayload([&](absl::string_view name, const absl::Cord& payload) { explained.SetPayload(name, payload); });
  return explained;
}

absl::Status ExplainedBy(const DraftModel* draft, const absl::Status& status) {
  return draft == nullptr ? status : draft->Explained(status);
}

}  // namespace tessera
