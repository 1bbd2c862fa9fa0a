// A stepper's pass: rows are placed, computed and verified, and each stream keeps what came true.
#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/internal/stepper_impl.h"

namespace tessera {

void Stepper::Impl::RunPlan(StepPlan& plan) {
  std::vector<StreamId> ids;
  members_.clear();
  for (const StepPart& part : plan.parts) {
    members_.push_back({running_[part.stream].stream.get()});
    ids.push_back(running_[part.stream].id);
  }
  submissions_.BeginPass(ids);
  double pass_seconds = 0;
  const absl::Status pass = [&]() -> absl::Status {
    std::vector<int> wanted;
    RETURN_IF_ERROR(Place(plan, wanted));
    const std::atomic<bool>* const cancel = &submissions_.pass_cancel();
    const double begin = clock_.Seconds();
    ASSIGN_OR_RETURN(Pass walk, core_->Begin(rows_, cancel));
    ASSIGN_OR_RETURN(const HiddenRows done, walk.Finish(wanted));
    pass_seconds = clock_.SecondsSince(begin);
    return logits_.Give(absl::MakeSpan(members_), done, clock_, cancel);
  }();
  submissions_.BeginPass({});
  report_.passes += 1;
  report_.rows += plan.rows();
  report_.prompt_rows += plan.prompt_rows();
  report_.most_texts = std::max<int64_t>(report_.most_texts, plan.parts.size());
  if (pass.ok()) Learn(plan, pass_seconds);
  Settle(plan, pass, pass_seconds);
}

absl::Status Stepper::Impl::Place(StepPlan& plan, std::vector<int>& wanted) {
  rows_.clear();
  for (const StepPart& part : plan.parts) {
    Stream& stream = *running_[part.stream].stream;
    RETURN_IF_ERROR(part.piece > 0 ? stream.PlacePiece(part.piece, rows_) : stream.PlaceTree(part.choice, rows_));
    stream.AddWanted(wanted);
  }
  return absl::OkStatus();
}

// A pass with pieces of prompts teaches nothing of what decoding costs.
void Stepper::Impl::Learn(const StepPlan& plan, double pass_seconds) {
  if (plan.prompt_rows() > 0) return;
  LearnStep(plan.shape(), {.pass_seconds = pass_seconds, .top_rows = logits_.top_rows(), .top_seconds = logits_.top_seconds()}, costs_);
  for (const PassLogits::Round& round : logits_.rounds()) costs_.AddHead(round.rows, round.seconds);
}

// Each text is charged for what it adds to the pass, by the costs, as a share of what the pass took.
void Stepper::Impl::Settle(const StepPlan& plan, const absl::Status& pass, double pass_seconds) {
  const CostProfile::Shape all = plan.shape();
  if (plan.prompt_rows() > 0) pass_seconds = costs_.PassSeconds(all);   // Prompts are not charged to those that write.
  double head_seconds = 0;
  int head_rows = 0;
  for (const PassLogits::Round& round : logits_.rounds()) {
    head_seconds += round.seconds;
    head_rows += round.rows;
  }
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    const StepPart& part = plan.parts[i];
    Text& text = running_[part.stream];
    const double share = head_rows == 0 ? 0 : static_cast<double>(members_[i].rows) / head_rows;
    const StepTime time = {.pass_seconds = pass_seconds * MarginalShare(all, part.choice.shape(), costs_),
                           .first_rows = members_[i].rows,
                           .first_seconds = head_seconds * share,
                           .top_rows = text.stream->wants_top() > 0 ? members_[i].rows : 0,
                           .top_seconds = logits_.top_seconds() * share};
    text.stream->Settle(pass, time);
    if (!pass.ok()) {
      End(text, pass);
    } else if (!members_[i].status.ok()) {
      End(text, members_[i].status);
    } else if (text.stream->finished()) {
      End(text, absl::OkStatus());
    } else if (text.stream->pending() == 0 && text.stream->text().length() >= core_->context()) {
      text.stream->SetReason(FinishReason::kContextFull);
      End(text, absl::OkStatus());
    }
  }
}

void Stepper::Impl::End(Text& text, const absl::Status& status) {
  if (text.stream->ended()) return;
  if (absl::IsCancelled(status)) text.stream->SetReason(FinishReason::kCancelled);
  text.stream->End(absl::IsCancelled(status) ? absl::OkStatus() : status);
  awaits_end_ = false;
}

void Stepper::Impl::RemoveEnded() {
  for (Text& text : running_) {
    if (!text.stream->ended()) continue;
    std::unique_ptr<CachedText> left = text.stream->TakeText();
    if (left != nullptr && options_.keeps_beginnings) beginnings_.Keep(std::move(left), text.adapter);
  }
  std::erase_if(running_, [](const Text& text) { return text.stream->ended(); });
  std::erase_if(waiting_, [](const Text& text) { return text.stream->ended(); });
}

}  // namespace tessera
