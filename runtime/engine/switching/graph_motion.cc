#include "tessera/runtime/engine/switching/graph_motion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/switch_choice.h"

namespace tessera {

namespace {

absl::Status CheckOption(absl::string_view name, int found, int least, int most) {
  if (found >= least && found <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("graph switching: ", name, ": found ", found, ", expected ", least, " to ", most));
}

absl::Status CheckEnds(const SwitchingOptions& options, int layers) {
  if (options.ends.empty()) return absl::OkStatus();
  if (options.ends.size() != static_cast<size_t>(options.blocks)) {
    return absl::InvalidArgumentError(absl::StrCat("graph switching: ends of blocks: found ", options.ends.size(), ", expected ",
                                                   options.blocks, ", one per block"));
  }
  int least = 1;
  for (const int end : options.ends) {
    RETURN_IF_ERROR(CheckOption("end of a block", end, least, layers));
    least = end + 1;
  }
  return CheckOption("end of the last block", options.ends.back(), layers, layers);
}

}  // namespace

GraphMotion::GraphMotion(PassRunner& runner, const SwitchingOptions& options) : runner_(runner), options_(options) {
  ends_ = options.ends.empty() ? EqualShares(runner.model().layers(), options.blocks) : options.ends;
  switched_.assign(static_cast<size_t>(options.blocks), false);
}

absl::StatusOr<std::unique_ptr<GraphMotion>> GraphMotion::Create(PassRunner& runner, const SwitchingOptions& options) {
  RETURN_IF_ERROR(CheckOption("blocks", options.blocks, 1, std::min(runner.model().layers(), kMostSwitchBlocks)));
  RETURN_IF_ERROR(CheckOption("rows of a prefill graph", options.prefill_rows, 1, runner.model().rows_together()));
  RETURN_IF_ERROR(CheckOption("rows of a decode graph", options.decode_rows, 1, options.prefill_rows));
  RETURN_IF_ERROR(CheckEnds(options, runner.model().layers()));
  std::unique_ptr<GraphMotion> motion(new GraphMotion(runner, options));
  RETURN_IF_ERROR(motion->Reset());
  return motion;
}

absl::Status GraphMotion::SetTimes(std::vector<SwitchTimes> times) {
  if (static_cast<int>(times.size()) != blocks()) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph switching: times: found ", times.size(), ", expected ", blocks(), ", one per block"));
  }
  times_ = std::move(times);
  return absl::OkStatus();
}

absl::Status GraphMotion::Switch(int block, bool decode) {
  switched_[static_cast<size_t>(block)] = decode;
  return runner_.SwitchGraphs(FirstOf(block), FirstOf(block + 1), decode ? options_.decode_rows : options_.prefill_rows);
}

void GraphMotion::ForgetPrompt() {
  in_prompt_ = false;
  plan_ = {};
  next_load_ = 0;
  last_loaded_ = -1;
  step_ = 0;
}

// Plans a prompt with the blocks' present graphs. Or plans to load the prefill graphs of all blocks with decode graphs first, and to switch
// again, if that plan ends sooner. If those loads alone take longer, the second plan is not computed.
absl::StatusOr<SwitchPlan> GraphMotion::PlanFor(const SwitchPrompt& prompt) const {
  ASSIGN_OR_RETURN(SwitchPlan stay, PlanSwitch(times_, prompt, options_.rule, switched_));
  ASSIGN_OR_RETURN(const SwitchOutcome stayed, SimulateSwitch(times_, prompt, stay));
  SwitchPlan back = {.had_decode = switched_};
  double least_seconds = 0;
  for (int block = 0; block < blocks(); ++block) {
    if (!IsSwitched(block)) continue;
    back.loads.push_back({block, kBeforePrompt});
    const SwitchTimes& times = times_[static_cast<size_t>(block)];
    least_seconds += times.return_seconds + (options_.rule == SwitchRule::kPadded ? 0 : times.load_seconds);
  }
  if (back.loads.empty() || stayed.total_seconds() <= least_seconds) return stay;
  ASSIGN_OR_RETURN(const SwitchPlan again, PlanSwitch(times_, prompt, options_.rule));
  back.loads.insert(back.loads.end(), again.loads.begin(), again.loads.end());
  ASSIGN_OR_RETURN(const SwitchOutcome returned, SimulateSwitch(times_, prompt, back));
  return returned.total_seconds() < stayed.total_seconds() ? back : stay;
}

absl::Status GraphMotion::BeginPrompt(int tokens) {
  if (times_.empty()) return absl::FailedPreconditionError("graph switching: found a prompt, expected times of blocks first");
  ForgetPrompt();
  ++report_.prompts;
  ASSIGN_OR_RETURN(plan_, PlanFor(PromptOf(tokens, options_.prefill_rows, options_.decode_rows)));
  in_prompt_ = true;
  for (; next_load_ < plan_.loads.size() && plan_.loads[next_load_].before == kBeforePrompt; ++next_load_) {
    last_loaded_ = plan_.loads[next_load_].block;
    if (const absl::Status status = Switch(last_loaded_, /*decode=*/false); !status.ok()) {
      ForgetPrompt();
      return status;
    }
    ++report_.returned;
  }
  return absl::OkStatus();
}

absl::Status GraphMotion::BeginLoads(int step) {
  while (next_load_ < plan_.loads.size() && plan_.loads[next_load_].before <= step) {
    if (last_loaded_ >= 0 && !runner_.GraphsAreReady(FirstOf(last_loaded_), FirstOf(last_loaded_ + 1))) return absl::OkStatus();
    last_loaded_ = plan_.loads[next_load_++].block;
    RETURN_IF_ERROR(Switch(last_loaded_, /*decode=*/true));
    ++report_.switched_in_prompt;
  }
  return absl::OkStatus();
}

LayerRun GraphMotion::RunOf(int block, int rows) const {
  if (switched_[static_cast<size_t>(block)]) return {.chunk_rows = options_.decode_rows, .graph_rows = options_.decode_rows};
  return {.chunk_rows = std::min(rows, options_.prefill_rows), .graph_rows = options_.prefill_rows};
}

absl::StatusOr<HiddenRows> GraphMotion::Finish(Pass& pass, absl::Span<const int> wanted) {
  absl::StatusOr<HiddenRows> done = FinishBlocks(pass, wanted);
  if (!done.ok()) ForgetPrompt();
  return done;
}

absl::StatusOr<HiddenRows> GraphMotion::FinishBlocks(Pass& pass, absl::Span<const int> wanted) {
  const int rows = static_cast<int>(pass.rows().size());
  for (int block = 0; block < blocks(); ++block, ++step_) {
    if (in_prompt_) RETURN_IF_ERROR(BeginLoads(step_));
    const std::vector<LayerRun> runs(static_cast<size_t>(FirstOf(block + 1) - std::max(FirstOf(block), pass.layer())), RunOf(block, rows));
    if (block == blocks() - 1) {
      ++step_;
      return pass.Finish(wanted, runs);
    }
    RETURN_IF_ERROR(pass.RunTo(FirstOf(block + 1), runs));
  }
  return absl::InternalError("graph switching: a model without blocks");
}

absl::Status GraphMotion::EndPrompt() {
  const SwitchPlan plan = std::move(plan_);
  const size_t first = next_load_;
  ForgetPrompt();
  absl::Status first_error;
  for (size_t i = first; i < plan.loads.size(); ++i) {
    const absl::Status status = Switch(plan.loads[i].block, /*decode=*/true);
    report_.switched_after += status.ok() ? 1 : 0;
    first_error.Update(status);
  }
  return first_error;
}

absl::Status GraphMotion::SetGraphs(const std::vector<bool>& decode) {
  absl::Status first_error;
  for (int block = 0; block < blocks(); ++block) {
    const bool wanted = decode[static_cast<size_t>(block)];
    if (IsSwitched(block) != wanted) first_error.Update(Switch(block, wanted));
  }
  return first_error;
}

absl::Status GraphMotion::SwitchAll() { return SetGraphs(std::vector<bool>(static_cast<size_t>(blocks()), true)); }

absl::Status GraphMotion::BeginReturn() {
  for (const SwitchLoad& load : PlanReturn(blocks()).loads) {
    if (!IsSwitched(load.block)) continue;
    RETURN_IF_ERROR(Switch(load.block, /*decode=*/false));
    ++report_.returned;
  }
  return absl::OkStatus();
}

absl::Status GraphMotion::Reset() {
  ForgetPrompt();
  for (int block = 0; block < blocks(); ++block) RETURN_IF_ERROR(Switch(block, /*decode=*/false));
  return absl::OkStatus();
}

}  // namespace tessera
