// A scheduler's pass, and the requests that end with the pass.
#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/internal/stepper_impl.h"

namespace tessera {

absl::Status Stepper::Impl::RunPlan(const StepPlan& plan) {
  std::vector<StreamId> ids;
  for (const StepPart& part : plan.parts) ids.push_back(running_[part.stream].id);
  submissions_.BeginPass(ids);
  absl::Status pass = MoveGraphs(plan);
  if (pass.ok()) pass = pass_.Run(plan, Streams(), &costs_, &submissions_.pass_cancel(), *hold_);
  submissions_.BeginPass({});
  // The request that ran alone ends with the failed pass.
  if (!pass.ok() && core_->motion() != nullptr) core_->motion()->DropPrompt();
  report_.passes += 1;
  report_.rows += plan.rows();
  report_.prompt_rows += plan.prompt_rows();
  report_.most_texts = std::max<int64_t>(report_.most_texts, plan.parts.size());
  RETURN_IF_ERROR(core_->health());
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    EndIfDone(running_[plan.parts[i].stream], pass.ok() ? pass_.chosen(i) : pass);
    RETURN_IF_ERROR(core_->health());   // The request's on_end may have lost the core.
  }
  return absl::OkStatus();
}

absl::Status Stepper::Impl::MoveGraphs(const StepPlan& plan) {
  GraphMotion* const motion = core_->motion();
  if (motion == nullptr) return absl::OkStatus();
  const Text& first = running_.front();
  if (running_.size() == 1 && plan.parts.front().chunk > 0) {
    if (moving_ == first.id) return absl::OkStatus();
    RETURN_IF_ERROR(motion->BeginPrompt(first.stream->pending()));
    moving_ = first.id;
    return absl::OkStatus();
  }
  moving_.reset();
  // A graph that cannot be loaded now is loaded by the pass that needs the graph. If loading fails again, that pass has the error.
  motion->EndPrompt().IgnoreError();
  if (running_.size() > 1 && motion->options().rule != SwitchRule::kPadded) motion->SwitchAll().IgnoreError();
  return absl::OkStatus();
}

void Stepper::Impl::EndIfDone(Text& text, const absl::Status& status) {
  if (!status.ok() || text.stream->finished()) return End(text, status);
  if (text.stream->pending() > 0 || text.stream->text().length() < core_->context()) return;
  text.stream->SetReason(FinishReason::kContextFull);
  End(text, absl::OkStatus());
}

void Stepper::Impl::End(Text& text, const absl::Status& status) {
  if (text.stream->ended()) return;
  if (absl::IsCancelled(status)) text.stream->SetReason(FinishReason::kCancelled);
  Unheld([&] { text.stream->End(absl::IsCancelled(status) ? absl::OkStatus() : status); });
  awaits_end_ = false;
}

void Stepper::Impl::RemoveEnded() {
  // If a call within a callback lost the core, the cache may not be used any more.
  if (!core_->health().ok()) return;
  const auto remove = [this](auto& texts) {
    for (Text& text : texts) {
      if (!text.stream->ended()) continue;
      std::unique_ptr<CachedText> left = text.stream->TakeText();
      if (left != nullptr && options_.keeps_prefixes) core_->prefixes().Keep(std::move(left), text.adapter);
      ended_.push_back(std::move(text));
    }
    std::erase_if(texts, [](const Text& text) { return text.stream == nullptr; });
  };
  remove(running_);
  remove(waiting_);
}

}  // namespace tessera
