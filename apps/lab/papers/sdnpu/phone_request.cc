#include "tessera/apps/lab/papers/sdnpu/phone_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {

namespace {

template <typename T>
absl::Status CheckRange(absl::string_view name, T found, T least, T most) {
  if (found >= least && found <= most) return absl::OkStatus();   // A NaN is in no range.
  return absl::InvalidArgumentError(absl::StrCat("request: ", name, ": found ", found, ", expected ", least, " to ", most));
}

absl::Status CheckCost(absl::string_view name, const RunCost& cost) {
  RETURN_IF_ERROR(CheckRange<double>(absl::StrCat(name, " seconds"), cost.seconds, 0, kMostRequestSeconds));
  return CheckRange<double>(absl::StrCat(name, " joules"), cost.joules, 0, 1e3 * kMostRequestSeconds);
}

absl::Status CheckCosts(const RequestCosts& costs) {
  RETURN_IF_ERROR(CheckRange<int>("layers", costs.layers, 1, 1 << 16));
  const std::pair<absl::string_view, double> numbers[] = {
      {"call seconds", costs.call_seconds}, {"load seconds", costs.load_seconds}, {"load seconds per layer", costs.load_seconds_per_layer},
      {"draft seconds", costs.draft_seconds}, {"calibrate seconds", costs.calibrate_seconds}, {"idle watts", costs.idle_watts},
      {"cpu watts", costs.cpu_watts}, {"flash watts", costs.flash_watts}};
  for (const auto& [name, number] : numbers) RETURN_IF_ERROR(CheckRange<double>(name, number, 0, kMostRequestSeconds));
  return absl::OkStatus();
}

absl::Status CheckSetup(const RequestCosts& costs, const RequestSetup& setup) {
  RETURN_IF_ERROR(CheckRange<int>("blocks", setup.blocks, 1, std::min(costs.layers, kMostSwitchBlocks)));
  RETURN_IF_ERROR(CheckRange<int>("prefill rows", setup.prefill_rows, 1, kMostRequestRows));
  RETURN_IF_ERROR(CheckRange<int>("decode rows", setup.decode_rows, 1, kMostRequestRows));
  return CheckRange<double>("tokens of a pass", setup.model_tokens, 1, kMostRequestRows);
}

absl::Status CheckWork(const RequestSetup& setup, const RequestWork& work) {
  RETURN_IF_ERROR(CheckRange<int>("prompt tokens", work.prompt_tokens, 1, kMostRequestTokens));
  RETURN_IF_ERROR(CheckRange<int>("tokens", work.tokens, 0, kMostRequestTokens));
  if (setup.drafting != Drafting::kRecorded) return absl::OkStatus();
  int64_t tokens = 1;
  for (const RecordedPass& pass : work.passes) {
    RETURN_IF_ERROR(CheckRange<int>("drafted tokens", pass.drafted, 0, kMostRequestRows));
    RETURN_IF_ERROR(CheckRange<int>("accepted tokens", pass.accepted, 0, pass.drafted));
    tokens += pass.accepted + 1;
  }
  if (tokens >= work.tokens) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("request: passes: found ", tokens, " tokens, expected at least ", work.tokens));
}

class Request {
 public:
  Request(const RequestCosts& costs, const RequestSetup& setup, const RequestWork& work, Timeline* timeline)
      : costs_(costs), setup_(setup), work_(work), timeline_(timeline) {}

  absl::StatusOr<RequestResult> Run() && {
    result_.tokens = work_.tokens;
    RETURN_IF_ERROR(ReadPrompt());
    if (setup_.calibrates) {
      RETURN_IF_ERROR(Spend(OfCpu(costs_.calibrate_seconds * work_.prompt_tokens), result_.seconds.calibration,
                            {Zone::kSample, Resource::kCpu, work_.prompt_tokens, 0, 0}));
    }
    RETURN_IF_ERROR(setup_.drafting == Drafting::kModel ? DecodeByModel() : DecodeByPasses());
    return result_;
  }

 private:
  bool switches() const { return setup_.decode == ComputePlace::kNpu && setup_.rule != SwitchRule::kPadded; }
  // Returns the rows of the graph that writes the answer.
  int graph_rows() const { return setup_.rule == SwitchRule::kPadded ? setup_.prefill_rows : setup_.decode_rows; }
  int BlockLayers(int block) const { return costs_.layers / setup_.blocks + (block < costs_.layers % setup_.blocks ? 1 : 0); }
  double ShareOf(int block) const { return static_cast<double>(BlockLayers(block)) / costs_.layers; }
  RunCost OfCall() const { return {costs_.call_seconds, costs_.call_seconds * costs_.idle_watts}; }
  RunCost OfCpu(double seconds) const { return {seconds, seconds * (costs_.idle_watts + costs_.cpu_watts)}; }

  static int64_t Nanos(double seconds) { return static_cast<int64_t>(std::llround(seconds * 1e9)); }

  void Record(TimelineEvent event, double begin, double end) {
    if (timeline_ == nullptr || end <= begin) return;
    event.begin_ns = Nanos(begin);
    event.end_ns = Nanos(end);
    timeline_->Record(event);
  }

  // Advances the clock by work that nothing overlaps.
  absl::Status Spend(const RunCost& cost, double& part, const TimelineEvent& event) {
    RETURN_IF_ERROR(CheckCost("cost", cost));
    RETURN_IF_ERROR(CheckRange<double>("seconds", now_ + cost.seconds, 0, kMostRequestSeconds));
    Record(event, now_, now_ + cost.seconds);
    part += cost.seconds;
    result_.joules += cost.joules;
    now_ += cost.seconds;
    return absl::OkStatus();
  }

  absl::StatusOr<RunCost> LayerRun(int rows, int held, int64_t positions) const {
    return costs_.held_run == nullptr ? costs_.layer_run(rows, positions) : costs_.held_run(rows, held, positions);
  }

  // Returns the mean cost of a run of the layers over each `rows` rows of the prompt.
  absl::StatusOr<RunCost> MeanOverPrompt(int rows) const {
    const int64_t runs = CeilDiv(work_.prompt_tokens, rows);
    RunCost sum;
    for (int64_t run = 0; run < runs; ++run) {
      const int64_t end = std::min<int64_t>((run + 1) * rows, work_.prompt_tokens);
      ASSIGN_OR_RETURN(const RunCost cost, LayerRun(rows, static_cast<int>(end - run * rows), end));
      RETURN_IF_ERROR(CheckCost("layers", cost));
      sum += cost;
    }
    return (1.0 / static_cast<double>(runs)) * sum;
  }

  SwitchPrompt PromptOf() const {
    const int chunks = static_cast<int>(CeilDiv(work_.prompt_tokens, setup_.prefill_rows));
    const int last = work_.prompt_tokens - (chunks - 1) * setup_.prefill_rows;
    return {.chunks = chunks,
            .sub_chunks = static_cast<int>(CeilDiv(setup_.prefill_rows, setup_.decode_rows)),
            .last_sub_chunks = static_cast<int>(CeilDiv(last, setup_.decode_rows))};
  }

  absl::Status ReadPrompt() {
    ASSIGN_OR_RETURN(const RunCost prefill, MeanOverPrompt(setup_.prefill_rows));
    RunCost decode = prefill;
    if (switches()) {
      ASSIGN_OR_RETURN(decode, MeanOverPrompt(setup_.decode_rows));
    }
    std::vector<SwitchTimes> blocks;
    for (int block = 0; block < setup_.blocks; ++block) {
      blocks.push_back({.prefill_seconds = ShareOf(block) * prefill.seconds + costs_.call_seconds,
                        .decode_seconds = ShareOf(block) * decode.seconds + costs_.call_seconds,
                        .load_seconds = costs_.load_seconds + BlockLayers(block) * costs_.load_seconds_per_layer,
                        .return_seconds = costs_.load_seconds + BlockLayers(block) * costs_.load_seconds_per_layer});
    }
    const SwitchPrompt prompt = PromptOf();
    ASSIGN_OR_RETURN(const SwitchPlan plan, PlanSwitch(blocks, prompt, switches() ? setup_.rule : SwitchRule::kPadded));
    ASSIGN_OR_RETURN(const SwitchOutcome outcome, SimulateSwitch(blocks, prompt, plan));
    RETURN_IF_ERROR(CheckRange<double>("seconds", outcome.total_seconds(), 0, kMostRequestSeconds));
    Take(outcome, prefill, decode);
    ASSIGN_OR_RETURN(const RunCost head, costs_.head_run(1));
    return Spend(head, result_.seconds.prefill, {Zone::kHead, Resource::kCpu, 1, 0, 0});
  }

  // Adds the outcome of the switch: computing, waiting, and loads during both.
  void Take(const SwitchOutcome& outcome, const RunCost& prefill, const RunCost& decode) {
    double computed = 0;
    for (const SwitchRun& run : outcome.runs) {
      const RunCost& graph = run.decode_graph ? decode : prefill;
      computed += run.end_seconds - run.begin_seconds;
      result_.joules += run.runs * (ShareOf(run.block) * graph.joules + OfCall().joules);
      Record({Zone::kGraphRun, Resource::kNpu, run.block, 0, 0}, run.begin_seconds, run.end_seconds);
    }
    for (const PlacedLoad& load : outcome.loads) {
      result_.joules += (load.end_seconds - load.begin_seconds) * costs_.flash_watts;
      Record({Zone::kLoad, Resource::kFlash, load.block, 0, 0}, load.begin_seconds, load.end_seconds);
    }
    now_ = outcome.total_seconds();
    const double waited = std::max(0.0, now_ - computed);
    result_.joules += waited * costs_.idle_watts;
    result_.seconds.prefill += computed;
    result_.seconds.switching += waited;
  }

  // Runs a pass over `rows` rows that hold tokens, in as many runs of the graph as necessary; `share` of its cost counts.
  absl::Status DecodePass(int rows, int64_t positions, double share) {
    if (setup_.decode == ComputePlace::kCpu) {
      ASSIGN_OR_RETURN(const RunCost pass, costs_.cpu_pass(rows, positions));
      return Spend(share * pass, result_.seconds.decode, {Zone::kPass, Resource::kCpu, rows, 0, 0});
    }
    const int full_runs = static_cast<int>(CeilDiv(rows, graph_rows())) - 1, last = rows - full_runs * graph_rows();
    result_.empty_rows += share * (graph_rows() - last);
    const RunCost calls = static_cast<double>(setup_.blocks) * OfCall();
    ASSIGN_OR_RETURN(const RunCost last_run, LayerRun(graph_rows(), last, positions));
    RunCost all = share * (last_run + calls);
    if (full_runs > 0) {
      ASSIGN_OR_RETURN(const RunCost full_run, LayerRun(graph_rows(), graph_rows(), positions));
      all += (full_runs * share) * (full_run + calls);
    }
    RETURN_IF_ERROR(Spend(all, result_.seconds.decode, {Zone::kPass, Resource::kNpu, rows, 0, 0}));
    ASSIGN_OR_RETURN(const RunCost head, costs_.head_run(rows));
    return Spend(share * head, result_.seconds.decode, {Zone::kHead, Resource::kCpu, rows, 0, 0});
  }

  absl::Status DecodeByPasses() {
    const bool drafts = setup_.drafting == Drafting::kRecorded;
    const int64_t passes = drafts ? static_cast<int64_t>(work_.passes.size()) : std::max(0, work_.tokens - 1);
    int64_t written = 1;
    for (int64_t i = 0; i < passes; ++i) {
      const RecordedPass pass = drafts ? work_.passes[static_cast<size_t>(i)] : RecordedPass{};
      const int rows = 1 + pass.drafted;
      if (drafts) {
        RETURN_IF_ERROR(Spend(OfCpu(costs_.draft_seconds), result_.seconds.drafting,
                              {Zone::kOperator, Resource::kCpu, pass.drafted, 0, 0}));
      }
      RETURN_IF_ERROR(DecodePass(rows, work_.prompt_tokens + written - 1 + rows, 1));
      written += pass.accepted + 1;
      ++result_.passes;
      result_.valid_rows += pass.accepted + 1;
      result_.wasted_rows += pass.drafted - pass.accepted;
    }
    return absl::OkStatus();
  }

  // Returns the cost of one token by a model of one layer and the head, where the target decodes.
  absl::StatusOr<RunCost> OfModelDraft(int64_t positions) const {
    if (setup_.decode == ComputePlace::kCpu) {
      ASSIGN_OR_RETURN(const RunCost pass, costs_.cpu_pass(1, positions));
      ASSIGN_OR_RETURN(const RunCost head, costs_.head_run(1));
      const RunCost layers = {std::max(0.0, pass.seconds - head.seconds), std::max(0.0, pass.joules - head.joules)};
      return (1.0 / costs_.layers) * layers + head;
    }
    ASSIGN_OR_RETURN(const RunCost layers, LayerRun(1, 1, positions));
    ASSIGN_OR_RETURN(const RunCost head, costs_.head_run(1));
    return (1.0 / costs_.layers) * layers + OfCall() + head;
  }

  absl::Status DecodeByModel() {
    const double share = 1 / setup_.model_tokens;
    const int rows = setup_.decode_rows;
    for (int written = 1; written < work_.tokens; ++written) {
      const int64_t before = int64_t{work_.prompt_tokens} + written - 1;
      ASSIGN_OR_RETURN(const RunCost draft, OfModelDraft(before + 1));
      RETURN_IF_ERROR(Spend(draft, result_.seconds.drafting, {Zone::kOperator, Resource::kCpu, 1, 0, 0}));
      RETURN_IF_ERROR(DecodePass(rows, before + rows, share));
      result_.passes += share;
      result_.valid_rows += 1;
      result_.wasted_rows += share * rows - 1;
    }
    return absl::OkStatus();
  }

  const RequestCosts& costs_;
  const RequestSetup& setup_;
  const RequestWork& work_;
  Timeline* timeline_;
  double now_ = 0;
  RequestResult result_ = {};
};

}  // namespace

RequestParts& RequestParts::operator+=(const RequestParts& other) {
  prefill += other.prefill;
  switching += other.switching;
  calibration += other.calibration;
  decode += other.decode;
  drafting += other.drafting;
  return *this;
}

absl::StatusOr<RequestResult> SimulateRequest(const RequestCosts& costs, const RequestSetup& setup, const RequestWork& work,
                                              Timeline* timeline) {
  RETURN_IF_ERROR(CheckCosts(costs));
  RETURN_IF_ERROR(CheckSetup(costs, setup));
  RETURN_IF_ERROR(CheckWork(setup, work));
  return Request(costs, setup, work, timeline).Run();
}

absl::StatusOr<int> ChooseBlocks(const RequestCosts& costs, RequestSetup setup, const RequestWork& work) {
  setup.drafting = Drafting::kNone;
  setup.calibrates = false;
  const RequestWork plain = {.prompt_tokens = work.prompt_tokens, .tokens = work.tokens};
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (setup.blocks = 1; setup.blocks <= std::min(kMostChosenBlocks, costs.layers); ++setup.blocks) {
    ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(costs, setup, plain));
    if (result.seconds.total() >= least) continue;
    least = result.seconds.total();
    best = setup.blocks;
  }
  return best;
}

}  // namespace tessera
