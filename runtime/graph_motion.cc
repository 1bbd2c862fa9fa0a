#include "tessera/runtime/graph_motion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {

namespace {

absl::Status CheckOption(absl::string_view name, int found, int least, int most) {
  if (found >= least && found <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("graph switching: ", name, ": found ", found, ", expected ", least, " to ", most));
}

}  // namespace

GraphMotion::GraphMotion(PassRunner& runner, const SwitchingOptions& options) : runner_(runner), options_(options) {
  const int layers = runner.model().layers();
  for (int block = 0; block < options.blocks; ++block) ends_.push_back(layers * (block + 1) / options.blocks);
  switched_.assign(static_cast<size_t>(options.blocks), false);
}

absl::StatusOr<std::unique_ptr<GraphMotion>> GraphMotion::Create(PassRunner& runner, const SwitchingOptions& options) {
  RETURN_IF_ERROR(CheckOption("blocks", options.blocks, 1, std::min(runner.model().layers(), kMostSwitchBlocks)));
  RETURN_IF_ERROR(CheckOption("rows of a prefill graph", options.prefill_rows, 1, runner.model().rows_together()));
  RETURN_IF_ERROR(CheckOption("rows of a decode graph", options.decode_rows, 1, options.prefill_rows));
  std::unique_ptr<GraphMotion> motion(new GraphMotion(runner, options));
  for (int block = 0; block < motion->blocks(); ++block) RETURN_IF_ERROR(motion->Switch(block, /*decode=*/false));
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

absl::Status GraphMotion::BeginPrompt(int tokens) {
  if (times_.empty()) return absl::FailedPreconditionError("graph switching: found a prompt, expected times of blocks first");
  ++report_.prompts;
  in_prompt_ = true;
  step_ = 0;
  next_load_ = 0;
  last_loaded_ = -1;
  const int chunks = static_cast<int>(CeilDiv(tokens, options_.prefill_rows)), rest = tokens - (chunks - 1) * options_.prefill_rows;
  const SwitchPrompt prompt = {.chunks = chunks,
                               .sub_chunks = static_cast<int>(CeilDiv(options_.prefill_rows, options_.decode_rows)),
                               .last_sub_chunks = static_cast<int>(CeilDiv(rest, options_.decode_rows))};
  ASSIGN_OR_RETURN(plan_, PlanSwitch(times_, prompt, options_.rule));
  // Blocks that have their decode graph keep it: what the plan would do with them is done.
  std::erase_if(plan_.loads, [this](const SwitchLoad& load) { return switched_[static_cast<size_t>(load.block)]; });
  return absl::OkStatus();
}

absl::Status GraphMotion::BeginLoads(int step) {
  while (next_load_ < plan_.loads.size() && plan_.loads[next_load_].before <= step) {
    if (last_loaded_ >= 0 && !runner_.GraphsAreReady(FirstOf(last_loaded_), FirstOf(last_loaded_ + 1))) return absl::OkStatus();
    last_loaded_ = plan_.loads[next_load_++].block;
    ++report_.switched_in_prompt;
    RETURN_IF_ERROR(Switch(last_loaded_, /*decode=*/true));
  }
  return absl::OkStatus();
}

LayerRun GraphMotion::RunOf(int block, int rows) const {
  if (switched_[static_cast<size_t>(block)]) return {.chunk_rows = options_.decode_rows, .graph_rows = options_.decode_rows};
  return {.chunk_rows = std::min(rows, options_.prefill_rows), .graph_rows = options_.prefill_rows};
}

absl::StatusOr<HiddenRows> GraphMotion::Finish(Pass& pass, absl::Span<const int> wanted) {
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
  in_prompt_ = false;
  for (; next_load_ < plan_.loads.size(); ++next_load_) {
    ++report_.switched_after;
    RETURN_IF_ERROR(Switch(plan_.loads[next_load_].block, /*decode=*/true));
  }
  return absl::OkStatus();
}

absl::Status GraphMotion::SwitchAll() {
  for (int block = 0; block < blocks(); ++block) {
    if (!IsSwitched(block)) RETURN_IF_ERROR(Switch(block, /*decode=*/true));
  }
  return absl::OkStatus();
}

absl::Status GraphMotion::BeginReturn() {
  for (const SwitchLoad& load : PlanReturn(blocks()).loads) {
    if (!switched_[static_cast<size_t>(load.block)]) continue;
    ++report_.returned;
    RETURN_IF_ERROR(Switch(load.block, /*decode=*/false));
  }
  return absl::OkStatus();
}

}  // namespace tessera
