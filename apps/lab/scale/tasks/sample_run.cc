#include "tessera/apps/lab/scale/tasks/sample_run.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/chat/prompt_size.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/scheduler/stream.h"

namespace tessera {
namespace {

using Has = absl::FunctionRef<bool(absl::string_view id, int sample)>;
using Keep = absl::FunctionRef<absl::Status(const Sample& sample)>;

class SampleRun {
 public:
  SampleRun(const Engine& engine, absl::Span<const SampleProblem> problems, const SampleOptions& options, Has has, Keep keep)
      : engine_(engine), problems_(problems), options_(options), has_(has), keep_(keep) {}

  absl::Status Run(Stepper& stepper) {
    while (true) {
      while (under_way_ < options_.together && Next()) RETURN_IF_ERROR(Submit(stepper));
      if (under_way_ == 0) return absl::OkStatus();
      RETURN_IF_ERROR(stepper.Step().status());
      RETURN_IF_ERROR(error_);
      const std::atomic<bool>* const cancel = engine_.options().cancel;
      if (cancel != nullptr && cancel->load()) return absl::CancelledError("stopped");
    }
  }

 private:
  // Moves to the next missing sample. Returns false if there is none.
  bool Next() {
    while (problem_ < problems_.size()) {
      if (++sample_ < options_.samples) {
        if (!has_(problems_[problem_].id, sample_)) return true;
      } else {
        ++problem_;
        sample_ = -1;
      }
    }
    return false;
  }

  absl::Status Submit(Stepper& stepper) {
    const SampleProblem& problem = problems_[problem_];
    RETURN_IF_ERROR(Named(problem, CheckTokensFit(problem.prompt.size(), engine_.context())));
    const auto confidence = std::make_shared<TextConfidence>();
    StreamOptions stream = {.prompt = problem.prompt, .sampling = options_.sampling, .cancel = engine_.options().cancel};
    stream.text = {.max_tokens = options_.max_tokens, .stop = options_.stop, .stream = static_cast<uint64_t>(sample_),
                   .starts_text = options_.starts_text};
    stream.text.on_token = confidence->Listener();
    stream.on_end = [this, &problem, sample = sample_, confidence](const absl::StatusOr<Generation>& result) {
      --under_way_;
      if (error_.ok()) error_ = Named(problem, KeepOrFail(problem, sample, *confidence, result));
    };
    stepper.Submit(std::move(stream));
    ++under_way_;
    return absl::OkStatus();
  }

  absl::Status KeepOrFail(const SampleProblem& problem, int sample, const TextConfidence& confidence,
                          const absl::StatusOr<Generation>& result) const {
    RETURN_IF_ERROR(result.status());
    if (result->reason == FinishReason::kCancelled) return absl::CancelledError("stopped");
    return keep_({.id = problem.id,
                  .sample = sample,
                  .text = result->text,
                  .finish = std::string(FinishReasonName(result->reason)),
                  .tokens = static_cast<int64_t>(result->tokens.size()),
                  .mean_log_probability = confidence.mean_log_probability(),
                  .self_certainty = confidence.self_certainty()});
  }

  static absl::Status Named(const SampleProblem& problem, const absl::Status& status) {
    if (status.ok() || absl::IsCancelled(status)) return status;
    return absl::Status(status.code(), absl::StrCat("problem ", problem.id, ": ", status.message()));
  }

  const Engine& engine_;
  const absl::Span<const SampleProblem> problems_;
  const SampleOptions& options_;
  const Has has_;
  const Keep keep_;
  size_t problem_ = 0;
  int sample_ = -1;
  int under_way_ = 0;
  absl::Status error_;   // The first error of a sample.
};

}  // namespace

absl::Status PlanSamples(const SampleOptions& options, EngineOptions& engine) {
  return PlanParallel({.texts = options.together, .speculation = {.speculate = "none"}}, engine);
}

absl::StatusOr<StepperReport> WriteSamples(Engine& engine, absl::Span<const SampleProblem> problems, const SampleOptions& options, Has has,
                                           Keep keep) {
  SampleRun run(engine, problems, options, has, keep);   // Destroyed last: streams call this object.
  ASSIGN_OR_RETURN(const std::unique_ptr<Stepper> stepper, Stepper::Create(engine, {.most_texts = options.together}));
  RETURN_IF_ERROR(run.Run(*stepper));
  return stepper->report();
}

}  // namespace tessera
