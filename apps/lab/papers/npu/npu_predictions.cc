#include "tessera/apps/lab/papers/npu/npu_predictions.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/figures/phone_costs.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// sd.npu, section 3.2 of both versions: chunks of 256 rows, graphs of 32 rows to decode by.
constexpr int kPrefillRows = 256, kDecodeRows = 32;
constexpr char kUnsharedRecipe[] = "int8-channel-a8";
// The one-for-all paper, as the profiles' calibration asks about its tables 1 and 2.
constexpr char kStaticShape[] = "004-1b", kStaticRecipe[] = "int4-channel-a16";
constexpr int kStaticContext = 1024, kStaticChunk = 128;
constexpr char kOperatorsRecipe[] = "001";

constexpr NpuAssumption kAssumptions[] = {{"prompt tokens", &NpuAssumptions::prompt_tokens, 1024, 2048},
                                          {"answer tokens", &NpuAssumptions::answer_tokens, 64, 256}};

// The least and the most of a quantity over a grid.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// Returns the cost at any number of positions from the costs at two. Time is linear in the positions for graphs whose attention is the
// CPU's.
template <typename RunAt>
absl::StatusOr<RunCost> OnLine(RunAt run_at, int64_t positions) {
  constexpr int64_t kNear = 1, kFar = kPhoneContext;
  ASSIGN_OR_RETURN(const RunCost near, run_at(kNear));
  ASSIGN_OR_RETURN(const RunCost far, run_at(kFar));
  const double share = static_cast<double>(positions - kNear) / (kFar - kNear);
  return (1 - share) * near + share * far;
}

RequestCosts LinearCosts(const PhoneCosts& phone, bool held_attention) {
  RequestCosts costs = held_attention ? phone.CostsOfHeldRows() : phone.costs();
  costs.layer_run = [run = std::move(costs.layer_run)](int rows, int64_t positions) {
    return OnLine([&](int64_t at) { return run(rows, at); }, positions);
  };
  if (!held_attention) return costs;
  costs.held_run = [run = std::move(costs.held_run)](int rows, int held, int64_t positions) {
    return OnLine([&](int64_t at) { return run(rows, held, at); }, positions);
  };
  return costs;
}

class Predictor {
 public:
  Predictor(const ProfileSet& profiles, const NpuAssumptions& assumptions, KnownModels& models)
      : assumed_(assumptions), costers_(profiles, models) {}

  absl::StatusOr<std::vector<Prediction>> All() {
    RETURN_IF_ERROR(Softmax());
    RETURN_IF_ERROR(Gemv());
    RETURN_IF_ERROR(Head());
    RETURN_IF_ERROR(GraphsOf32Rows());
    RETURN_IF_ERROR(Ablation());
    RETURN_IF_ERROR(DecodeShares());
    RETURN_IF_ERROR(Memory());
    RETURN_IF_ERROR(Streams());
    RETURN_IF_ERROR(Transformations());
    return std::move(predictions_);
  }

 private:
  void Add(const char* id, const Range& range, std::string asked) {
    predictions_.push_back({.id = id, .low = range.low, .high = range.high, .asked = std::move(asked)});
  }
  void Add(const char* id, double value, std::string asked) { Add(id, Range{value, value}, std::move(asked)); }
  // The calibration asks about the same graph.
  void AddStatic(const char* id, double value, std::string asked) {
    Add(id, value, std::move(asked));
    predictions_.back().near_calibration = true;
  }

  // The vector unit's part of attention, 12 query heads of 128 that share 2 keys and values (Qwen2.5 1.5B), by mailbox.
  absl::StatusOr<double> SoftmaxSeconds(int64_t rows, int64_t positions, ModeledExp exp) {
    ASSIGN_OR_RETURN(const ModelConfig* const config, costers_.ConfigOf("qwen2.5-1.5b"));
    ASSIGN_OR_RETURN(const DeviceProfile* const profile, costers_.ProfileOf("8gen3"));
    Graph graph;
    const int64_t width = int64_t{config->heads} * config->head_size, kv_width = int64_t{config->kv_heads} * config->head_size;
    const BufferId query = graph.AddInput("query", width), key = graph.AddInput("key", kv_width);
    const BufferId value = graph.AddInput("value", kv_width), y = graph.AddOutput("attention", width);
    graph.Add(StoreKeyValue{.key = key, .value = value});
    graph.Add(Attention{.query = query, .y = y, .heads = config->heads, .scale = 1});
    ASSIGN_OR_RETURN(const GraphCost cost,
                     CostOfGraph(graph, {.profile = *profile, .rows = rows, .positions = positions, .exp = exp}));
    return cost.operators[1].busy[static_cast<size_t>(Bound::kVector)];
  }

  absl::Status Softmax() {
    Range single, half;
    for (const int64_t rows : {1, 4, 16}) {
      for (const int64_t positions : {1024, 4096, 16384}) {
        ASSIGN_OR_RETURN(const double table, SoftmaxSeconds(rows, positions, ModeledExp::kTable));
        ASSIGN_OR_RETURN(const double by_half, SoftmaxSeconds(rows, positions, ModeledExp::kHalfPolynomial));
        ASSIGN_OR_RETURN(const double by_float, SoftmaxSeconds(rows, positions, ModeledExp::kFloatPolynomial));
        single.Add(by_float / table);
        half.Add(by_half / table);
      }
    }
    const std::string grid = "8gen3 operators: the vector unit's time in attention of qwen2.5-1.5b, rows 1, 4, 16, positions 1k, 4k, 16k";
    Add("001-softmax-float", single, absl::StrCat(grid, "; 2^x by FP32 over by table"));
    Add("001-softmax-half", half.high, absl::StrCat(grid, "; 2^x by FP16 over by table, the most"));
    return absl::OkStatus();
  }

  absl::StatusOr<double> GemvSeconds(int64_t inputs, int64_t outputs, TileScheme tile, WeightArrangement arrangement) {
    ASSIGN_OR_RETURN(const DeviceProfile* const profile, costers_.ProfileOf("8gen3"));
    Graph graph;
    const BufferId x = graph.AddInput("x", inputs), y = graph.AddOutput("y", outputs);
    const WeightId weight = graph.AddMatrix({"weight", BlockFormat::kQ4_0, outputs, inputs}, tile);
    graph.Add(Linear{.x = x, .products = {{.weight = weight, .y = y}}});
    ASSIGN_OR_RETURN(const GraphCost cost, CostOfGraph(graph, {.profile = *profile, .arrangement = arrangement}));
    return cost.seconds;
  }

  absl::Status Gemv() {
    Range baseline, layout;
    for (const char* const shape : {"qwen2.5-1.5b", "qwen2.5-3b"}) {
      ASSIGN_OR_RETURN(const Graph layer, costers_.LayerGraphOf(shape, kOperatorsRecipe));
      for (const GraphWeight& weight : layer.weights) {
        if (!weight.tile.has_value()) continue;
        const auto seconds = [&](WeightArrangement arrangement) {
          return GemvSeconds(weight.spec.in_features, weight.spec.out_features, *weight.tile, arrangement);
        };
        ASSIGN_OR_RETURN(const double ours, seconds(WeightArrangement::kSuperGroups));
        ASSIGN_OR_RETURN(const double scattered, seconds(WeightArrangement::kScattered));
        ASSIGN_OR_RETURN(const double groups, seconds(WeightArrangement::kTileGroups));
        baseline.Add(scattered / ours);
        layout.Add(groups / ours);
      }
    }
    const std::string grid = "8gen3 operators: a row times each matrix of a layer of qwen2.5-1.5b and qwen2.5-3b, recipe 001";
    Add("001-gemv-baseline", baseline, absl::StrCat(grid, "; groups along the inputs, scattered, over super-groups"));
    Add("001-gemv-layout", layout, absl::StrCat(grid, "; tile groups one by one over super-groups"));
    return absl::OkStatus();
  }

  absl::Status Head() {
    ASSIGN_OR_RETURN(const PassCoster* const coster,
                     costers_.Of({.device = "8gen3", .style = "operators", .shape = "qwen2.5-1.5b", .recipe = kOperatorsRecipe}));
    ASSIGN_OR_RETURN(const PassCost pass, coster->Of({.rows = 16, .positions = assumed_.prompt_tokens, .logit_rows = 16}));
    Add("001-head-share", 100 * pass.busy[static_cast<size_t>(Bound::kCpu)] / pass.seconds,
        absl::StrCat("8gen3 operators, qwen2.5-1.5b, recipe 001, 16 rows at ", assumed_.prompt_tokens, " positions: the CPU's share"));
    return absl::OkStatus();
  }

  absl::Status GraphsOf32Rows() {
    ASSIGN_OR_RETURN(const PassCoster* const coster,
                     costers_.Of({.device = "8gen3", .style = "unshared", .shape = "qwen2.5-1.5b", .recipe = kUnsharedRecipe}));
    const std::string asked = absl::StrCat("8gen3 unshared, qwen2.5-1.5b, ", kUnsharedRecipe, ", graph of ", kDecodeRows, " rows");
    ASSIGN_OR_RETURN(const PassCost verified, coster->Of({.rows = kDecodeRows,
                                                          .positions = assumed_.prompt_tokens + kDecodeRows,
                                                          .logit_rows = kDecodeRows}));
    Add("000-verify-32", verified.seconds * 1e3 / kDecodeRows,
        absl::StrCat(asked, ", all with logits, after ", assumed_.prompt_tokens, " positions; the phone is its section's"));
    ASSIGN_OR_RETURN(const PassCost prompt, coster->OfPrompt(assumed_.prompt_tokens, kDecodeRows));
    Add("000-prefill-32", prompt.seconds * 1e3 / assumed_.prompt_tokens,
        absl::StrCat(asked, ", a prompt of ", assumed_.prompt_tokens, " tokens"));
    return absl::OkStatus();
  }

  RequestCosts CostsOf(const PhoneCosts& phone) const { return LinearCosts(phone, assumed_.held_attention); }

  // Returns the times of a request without drafts.
  absl::StatusOr<RequestParts> SecondsOfRequest(const PhoneCosts& phone, RequestSetup setup) const {
    setup.prefill_rows = kPrefillRows;
    setup.decode_rows = kDecodeRows;
    const RequestWork work = {.prompt_tokens = assumed_.prompt_tokens, .tokens = assumed_.answer_tokens};
    ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(CostsOf(phone), setup, work));
    return result.seconds;
  }

  absl::StatusOr<std::unique_ptr<PhoneCosts>> Open(const char* device, const char* shape) const {
    ASSIGN_OR_RETURN(const DeviceProfile* const profile, costers_.ProfileOf(device));
    return PhoneCosts::Open(*profile, shape, kPrefillRows);
  }

  std::string RequestText() const {
    return absl::StrCat(" unshared, ", kUnsharedRecipe, ", prompt of ", assumed_.prompt_tokens, " by ", kPrefillRows, " rows, ",
                        assumed_.answer_tokens, " tokens of answer", assumed_.held_attention ? ", attention of rows that are there" : "");
  }

  // All of the time, by the tokens of the answer: sd.npu (longer version) calls quotients of this latency "end-to-end speedup" (sections 1
  // and 4.2), and tessera_reproduce sdnpu counts so, too.
  absl::Status Ablation() {
    ASSIGN_OR_RETURN(const std::unique_ptr<PhoneCosts> phone, Open("8gen2", "qwen2.5-1.5b"));
    ASSIGN_OR_RETURN(const RequestParts plain, SecondsOfRequest(*phone, {.rule = SwitchRule::kSynchronous}));
    RequestSetup published = {.rule = SwitchRule::kPublished, .prefill_rows = kPrefillRows, .decode_rows = kDecodeRows};
    ASSIGN_OR_RETURN(published.blocks, ChooseBlocks(CostsOf(*phone), published, {assumed_.prompt_tokens, assumed_.answer_tokens, {}}));
    ASSIGN_OR_RETURN(const RequestParts switched, SecondsOfRequest(*phone, published));
    const auto per_token = [&](const RequestParts& parts) { return parts.total() * 1e3 / assumed_.answer_tokens; };
    const std::string asked = absl::StrCat("8gen2", RequestText(), " by a graph of ", kDecodeRows, " rows; all of the time by its tokens");
    Add("000-ablation-npu", per_token(plain), absl::StrCat(asked, ", loaded after the prompt"));
    Add("000-ablation-graph", per_token(switched), absl::StrCat(asked, ", loaded in ", published.blocks, " blocks by the published rule"));
    return absl::OkStatus();
  }

  absl::Status DecodeShares() {
    Range npu;
    double cpu = 0, switching = 0, delay = 0;
    for (const char* const shape : {"qwen2.5-0.5b", "qwen2.5-1.5b", "llama-3.2-3b"}) {
      ASSIGN_OR_RETURN(const std::unique_ptr<PhoneCosts> phone, Open("8elite", shape));
      ASSIGN_OR_RETURN(const RequestParts by_npu, SecondsOfRequest(*phone, {.rule = SwitchRule::kSynchronous}));
      npu.Add(100 * (by_npu.decode + by_npu.switching) / by_npu.total());
      if (absl::string_view(shape) != "qwen2.5-1.5b") continue;
      ASSIGN_OR_RETURN(const RequestParts by_cpu, SecondsOfRequest(*phone, {.decode = ComputePlace::kCpu}));
      cpu = 100 * by_cpu.decode / by_cpu.total();
      switching = 100 * by_npu.switching / (by_npu.decode + by_npu.switching);
      delay = 100 * by_npu.switching / (by_npu.total() - by_npu.switching);
    }
    const std::string asked = absl::StrCat("8elite", RequestText());
    Add("003-decode-share", npu, absl::StrCat(asked, "; qwen2.5-0.5b, qwen2.5-1.5b, llama-3.2-3b, graphs of ", kDecodeRows,
                                              " rows, loading them included"));
    const std::string loaded = absl::StrCat(asked, "; qwen2.5-1.5b, loaded after the prompt");
    Add("003-switch-share", switching, loaded);
    Add("000-switch-delay", delay, loaded);
    Add("000-cpu-share-qa", cpu, absl::StrCat(asked, " by the CPU; qwen2.5-1.5b"));
    Add("000-cpu-share-summary", cpu, absl::StrCat(asked, " by the CPU; qwen2.5-1.5b, the same as for questions"));
    return absl::OkStatus();
  }

  absl::Status Memory() {
    constexpr double kGigabyte = 1e9;
    ASSIGN_OR_RETURN(const std::unique_ptr<PhoneCosts> phone, Open("8elite", "qwen2.5-1.5b"));
    const double base = static_cast<double>(phone->memory().total()) / kGigabyte;
    const std::string asked = absl::StrCat("unshared, qwen2.5-1.5b, ", kUnsharedRecipe, ", context ", kPhoneContext, ", ", kPrefillRows,
                                           " rows: one graph of each block");
    Add("003-memory-base", base, asked);
    Add("003-memory-ours", base, absl::StrCat(asked, "; what drafters keep is not modeled"));
    Add("003-memory-cpu", base + static_cast<double>(phone->cpu_copy_bytes()) / kGigabyte,
        absl::StrCat(asked, ", and the layers again for the CPU"));
    return absl::OkStatus();
  }

  absl::StatusOr<const PassCoster*> Static() {
    return costers_.Of(
        {.device = "8gen3", .style = "static", .shape = kStaticShape, .recipe = kStaticRecipe, .context = kStaticContext});
  }
  static std::string StaticText() {
    return absl::StrCat("8gen3 static, ", kStaticShape, ", ", kStaticRecipe, ", context ", kStaticContext);
  }
  // Predicts milliseconds of a pass, and of the first token.
  absl::StatusOr<double> Step(int rows) {
    ASSIGN_OR_RETURN(const PassCoster* const coster, Static());
    ASSIGN_OR_RETURN(const PassCost pass, coster->Of({.rows = rows, .positions = kStaticContext, .logit_rows = rows}));
    return pass.seconds * 1e3;
  }
  absl::StatusOr<double> First() {
    ASSIGN_OR_RETURN(const PassCoster* const coster, Static());
    ASSIGN_OR_RETURN(const PassCost prompt, coster->OfPrompt(kStaticChunk, kStaticChunk));
    return prompt.seconds * 1e3;
  }

  absl::Status Streams() {
    constexpr int kStreams = 8;
    ASSIGN_OR_RETURN(const double one, Step(1));
    ASSIGN_OR_RETURN(const double eight, Step(kStreams));
    ASSIGN_OR_RETURN(const double first, First());
    const std::string rows = absl::StrCat(StaticText(), ", rows of a pass: ");
    AddStatic("004-step-1", one, absl::StrCat(rows, 1));
    AddStatic("004-step-8", eight, absl::StrCat(rows, kStreams));
    AddStatic("004-prefill", first, absl::StrCat(rows, kStaticChunk));
    AddStatic("004-total-1", first + kStreams * one, absl::StrCat(rows, kStaticChunk, ", then ", kStreams, " times 1"));
    AddStatic("004-total-8", first + eight, absl::StrCat(rows, kStaticChunk, ", then ", kStreams));
    return absl::OkStatus();
  }

  // Returns the milliseconds that all layers take in addition in a graph of another form.
  absl::StatusOr<double> MoreWithout(bool GraphForm::*done, int64_t rows) {
    ASSIGN_OR_RETURN(const ModelConfig* const config, costers_.ConfigOf(kStaticShape));
    ASSIGN_OR_RETURN(const DeviceProfile* const profile, costers_.ProfileOf("8gen3"));
    ASSIGN_OR_RETURN(const ExecutionStyle style, ExecutionStyleByName("static"));
    ASSIGN_OR_RETURN(Graph layer, costers_.LayerGraphOf(kStaticShape, kStaticRecipe));
    const CostSetting setting = {.profile = *profile, .style = style, .rows = rows, .positions = kStaticContext};
    ASSIGN_OR_RETURN(const GraphCost with, CostOfGraph(layer, setting));
    layer.form.*done = false;
    ASSIGN_OR_RETURN(const GraphCost without, CostOfGraph(layer, setting));
    return static_cast<double>(config->layers.size()) * (without.seconds - with.seconds) * 1e3;
  }

  absl::Status Transformations() {
    ASSIGN_OR_RETURN(const double step, Step(1));
    ASSIGN_OR_RETURN(const double first, First());
    ASSIGN_OR_RETURN(const double unfolded_step, MoreWithout(&GraphForm::folded_scalars, 1));
    ASSIGN_OR_RETURN(const double unfolded_first, MoreWithout(&GraphForm::folded_scalars, kStaticChunk));
    ASSIGN_OR_RETURN(const double plain_step, MoreWithout(&GraphForm::transposed_keys, 1));
    ASSIGN_OR_RETURN(const double plain_first, MoreWithout(&GraphForm::transposed_keys, kStaticChunk));
    const std::string one = absl::StrCat(StaticText(), ", 1 row"), many = absl::StrCat(StaticText(), ", ", kStaticChunk, " rows");
    AddStatic("004-folded-step", step, one);
    AddStatic("004-folded-first", first, many);
    AddStatic("004-unfolded-step", step + unfolded_step, absl::StrCat(one, ", layers without folded scalars"));
    AddStatic("004-unfolded-first", first + unfolded_first, absl::StrCat(many, ", layers without folded scalars"));
    AddStatic("004-untransposed-step", step + plain_step, absl::StrCat(one, ", layers without transposed keys"));
    AddStatic("004-untransposed-first", first + plain_first, absl::StrCat(many, ", layers without transposed keys"));
    return absl::OkStatus();
  }

  const NpuAssumptions assumed_;
  CosterCache costers_;
  std::vector<Prediction> predictions_;
};

}  // namespace

absl::Span<const NpuAssumption> NpuAssumptionRanges() { return kAssumptions; }

absl::StatusOr<std::vector<Prediction>> PredictNpuFigures(const ProfileSet& profiles, const NpuAssumptions& assumptions,
                                                          KnownModels& models) {
  return Predictor(profiles, assumptions, models).All();
}

}  // namespace tessera
