#include "tessera/runtime/scheduler/internal/stream_pass.h"

#include <algorithm>
#include <limits>

#include "tessera/base/status_macros.h"
#include "tessera/spec/costs/step_time.h"
#include "tessera/spec/policies/row_policy.h"

namespace tessera {

absl::Status StreamPass::Run(const StepPlan& plan, absl::Span<Stream* const> streams, CostProfile* costs,
                             const std::atomic<bool>* cancel, EngineCore::Hold& hold) {
  members_.clear();
  for (const StepPart& part : plan.parts) members_.push_back({.stream = streams[part.stream]});
  absl::Status pass = Place(plan, streams);
  if (pass.ok()) pass = Compute(plan, costs, cancel, hold);
  RETURN_IF_ERROR(core_.health());
  const bool decodes_alone = plan.prompt_rows() == 0;
  if (pass.ok() && costs != nullptr) Learn(plan, *costs);
  const CostProfile::Shape all = plan.shape();
  // The cost of prompts is not charged to decoding streams.
  const double seconds = decodes_alone || costs == nullptr ? pass_seconds_ : costs->PassSeconds(all);
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const double share = costs == nullptr ? 1 : MarginalShare(all, plan.parts[i].choice.shape(), *costs);
    members_[i].stream->Settle(pass, TimeOf(members_[i], seconds * share));
  }
  return pass;
}

absl::Status StreamPass::Place(const StepPlan& plan, absl::Span<Stream* const> streams) {
  rows_.clear();
  listening_.clear();
  for (const StepPart& part : plan.parts) {
    Stream& stream = *streams[part.stream];
    const int first = static_cast<int>(rows_.size());
    RETURN_IF_ERROR(part.chunk > 0 ? stream.PlaceChunk(part.chunk, rows_) : stream.PlaceTree(part.choice, rows_));
    LayerListener* const listener = stream.options().text.listener;
    if (listener != nullptr) listening_.push_back({listener, first, part.chunk > 0 ? part.chunk : part.choice.tree_rows()});
  }
  return absl::OkStatus();
}

void StreamPass::ListWanted() {
  wanted_.clear();
  for (const PassLogits::Member& member : members_) member.stream->AddWanted(wanted_);
}

// Runs the lower layers, as far as listeners or pruning need hidden states half-way.
absl::Status StreamPass::Walk(const StepPlan& plan, const CostProfile* costs, Pass& walk) {
  for (const ListeningRows& one : listening_) one.listener->BeginPass(one.rows);
  RETURN_IF_ERROR(pruning_.Run(plan, members_, costs, listening_, walk));
  return listening_.empty() ? absl::OkStatus() : TellSomeLayers(walk, listening_, walk.layer(), std::numeric_limits<int>::max());
}

absl::Status StreamPass::Compute(const StepPlan& plan, const CostProfile* costs, const std::atomic<bool>* cancel,
                                 EngineCore::Hold& hold) {
  const EngineCore::PassMark mark(core_);
  const double begin = clock_.Seconds(), waited = core_.SwitchWaitSeconds();
  ASSIGN_OR_RETURN(Pass walk, core_.Begin(rows_, cancel));
  RETURN_IF_ERROR(Walk(plan, costs, walk));
  ListWanted();
  ASSIGN_OR_RETURN(const HiddenRows done, core_.Finish(walk, wanted_));
  pass_seconds_ = std::max(0.0, clock_.SecondsSince(begin) - (core_.SwitchWaitSeconds() - waited));
  return logits_.Give(absl::MakeSpan(members_), done, clock_, cancel, hold);
}

void StreamPass::Learn(const StepPlan& plan, CostProfile& costs) {
  if (plan.prompt_rows() > 0) return costs.AddPromptPass(plan.rows(), pass_seconds_);
  LearnStep(pruning_.Learnt(plan.shape()), {.pass_seconds = pass_seconds_ - pruning_.seconds(), .top_rows = logits_.top_rows(),
                                            .top_seconds = logits_.top_seconds()}, costs);
  for (const PassLogits::Round& round : logits_.rounds()) costs.AddHead(round.rows, round.seconds);
  for (const PassLogits::Round& round : logits_.rounds_ahead()) costs.AddHead(round.rows, round.seconds);
}

// Returns a stream's time. A stream's share of the head is proportional to the stream's rows.
StepTime StreamPass::TimeOf(const PassLogits::Member& member, double pass_seconds) const {
  StepTime time = {.pass_seconds = pass_seconds, .first_rows = member.first_rows, .later_rows = member.later_rows,
                   .ahead_rows = member.ahead_rows, .ahead_seconds = member.ahead_seconds};
  int later_rows = 0, rows = 0;
  double later_seconds = 0;
  for (int i = 0; i < static_cast<int>(logits_.rounds().size()); ++i) {
    const PassLogits::Round& round = logits_.rounds()[i];
    rows += round.rows;
    if (i == member.first_round) {
      time.first_seconds = round.seconds * member.first_rows / round.rows;
    } else if (i > member.first_round) {
      later_rows += round.rows;
      later_seconds += round.seconds;
    }
  }
  if (later_rows > 0) time.later_seconds = later_seconds * member.later_rows / later_rows;
  if (member.stream->wants_top() == 0) return time;
  time.top_rows = member.first_rows + member.later_rows;
  time.top_seconds = rows == 0 ? 0 : logits_.top_seconds() * time.top_rows / rows;
  return time;
}

}  // namespace tessera
