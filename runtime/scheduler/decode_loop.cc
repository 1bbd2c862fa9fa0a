#include "tessera/runtime/scheduler/decode_loop.h"

#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/internal/step_plan.h"
#include "tessera/runtime/scheduler/internal/stream_pass.h"
#include "tessera/runtime/session/measure_costs.h"

namespace tessera {

// Drives one stream in the session's own sequence to the end.
class GenerateLoop {
 public:
  static absl::StatusOr<Generation> RunGuarded(Session& session, const Sampler& sampler, const GenerateOptions& options) {
    absl::StatusOr<Generation> written = session.core_->Guarded([&] { return GenerateLoop(session, options).Run(sampler); });
    if (!session.core_->health().ok()) session.text_->Abandon();
    return written;
  }

 private:
  GenerateLoop(Session& session, const GenerateOptions& options)
      : session_(session), core_(CoreOf(session)), options_(options),
        pass_(core_, GivenOrRealClock(options.speculator == nullptr ? nullptr : &options.speculator->clock())) {}

  absl::StatusOr<Generation> Run(const Sampler& sampler) {
    if (session_.logits().empty()) return absl::FailedPreconditionError("Generate: the session is empty, expected a prompt");
    StreamOptions of_stream = {.text = options_, .adapter = session_.adapter(), .cancel = session_.options_.cancel};
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream,
                     Stream::Continue(core_, *session_.text_, session_.logits_, sampler, std::move(of_stream)));
    if (!stream->finished()) RETURN_IF_ERROR(BeginSpeculation(*stream));
    session_.has_logits_ = false;   // Until the logits are known.
    const absl::Status status = Write(*stream);
    KeepLogits(stream->last_logits());
    if (!status.ok() && !absl::IsCancelled(status)) return status;
    if (!status.ok()) stream->SetReason(FinishReason::kCancelled);
    stream->End(absl::OkStatus());
    return stream->TakeResult();
  }

  absl::Status BeginSpeculation(Stream& stream) {
    if (options_.speculator == nullptr) return absl::OkStatus();
    if (CostProfile* const costs = options_.speculator->CostsToMeasure(); costs != nullptr) {
      const absl::Status measured = MeasureCosts(
          session_, {options_.measure_seconds, options_.speculator->max_rows(), &options_.speculator->clock()}, *costs);
      if (!absl::IsCancelled(measured)) RETURN_IF_ERROR(measured);  // After a cancelled measurement the next pass is cancelled, too.
    }
    stream.BeginSpeculation();
    return absl::OkStatus();
  }

  absl::Status Write(Stream& stream) {
    CostProfile* const costs = options_.speculator == nullptr ? nullptr : &options_.speculator->costs();
    Stream* const streams[] = {&stream};
    while (!stream.finished()) {
      ASSIGN_OR_RETURN(EngineCore::Hold hold, core_.TryHold());
      session_.text_->MakeExtendable();
      const int room = std::min(core_.context() - stream.text().length(), core_.runner().row_capacity());
      if (room == 0) {
        stream.SetReason(FinishReason::kContextFull);
        break;
      }
      const int most = options_.speculator == nullptr ? 1 : std::min(room, options_.speculator->max_rows());
      // A plan always has room for one row here. Without that row plain decoding would fail, too, with an error that says why.
      const int draft_rows = std::max(1, core_.RoomFor(most));
      const StepPlan plan = PlanStep(core_, streams, costs == nullptr ? no_costs_ : *costs, {.draft_rows = draft_rows});
      RETURN_IF_ERROR(core_.MakeRoom(plan.rows()));
      RETURN_IF_ERROR(pass_.Run(plan, streams, costs, session_.options_.cancel, hold));
      RETURN_IF_ERROR(pass_.chosen(0));
    }
    return absl::OkStatus();
  }

  void KeepLogits(absl::Span<const float> logits) {
    session_.has_logits_ = !logits.empty();
    if (logits.data() == session_.logits_.data()) return;
    std::copy(logits.begin(), logits.end(), session_.logits_buffer_.begin());
  }

  Session& session_;
  EngineCore& core_;
  const GenerateOptions& options_;
  const CostProfile no_costs_;
  StreamPass pass_;
};

absl::StatusOr<Generation> Generate(Session& session, const Sampler& sampler, const GenerateOptions& options) {
  return GenerateLoop::RunGuarded(session, sampler, options);
}

}  // namespace tessera
