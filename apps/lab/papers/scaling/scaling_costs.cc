#include "tessera/apps/lab/papers/scaling/scaling_costs.h"

#include <algorithm>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kChunkRows = 512;   // Rows of a pass over a prompt or an answer: as in tessera_inspect --device by mailbox.
// An answer's steps are a nearly straight function of the position: this number of steps stands for all.
constexpr int kPlaces = 8;

WorkCost WorkOf(const PassCost& pass, double times) { return {.seconds = pass.seconds * times, .joules = pass.joules * times}; }

}  // namespace

absl::StatusOr<const PassCoster*> ScalingCosts::CosterOf(const ScalingModel& model) {
  return costers_.Of({.device = model.phone,
                      .style = kScalingStyle,
                      .shape = model.shape,
                      .recipe = kScalingRecipe,
                      .context = kScalingContext,
                      .most_rows = kChunkRows});
}

absl::StatusOr<PassCost> ScalingCosts::Step(const ScalingModel& model, int64_t rows, int64_t positions) {
  ASSIGN_OR_RETURN(const PassCoster* const coster, CosterOf(model));
  return coster->Of({.rows = rows, .positions = positions, .logit_rows = rows});
}

absl::StatusOr<WorkCost> ScalingCosts::Answers(const ScalingModel& model, int samples) {
  const int places = std::min(kPlaces, assumed_.answer_tokens), kept = assumed_.all_samples ? samples : 1;
  WorkCost sum;
  for (int place = 0; place < places; ++place) {
    const auto written = static_cast<int64_t>((place + 0.5) * assumed_.answer_tokens / places) + 1;   // With this step's token.
    ASSIGN_OR_RETURN(const PassCost step, Step(model, samples, assumed_.prompt_tokens + kept * written));
    sum += WorkOf(step, static_cast<double>(assumed_.answer_tokens) / places);
  }
  return sum;
}

absl::StatusOr<WorkCost> ScalingCosts::Prompt(const ScalingModel& model) {
  ASSIGN_OR_RETURN(const PassCoster* const coster, CosterOf(model));
  ASSIGN_OR_RETURN(const PassCost prompt, coster->OfPrompt(assumed_.prompt_tokens, kChunkRows));
  return WorkOf(prompt, 1);
}

absl::StatusOr<WorkCost> ScalingCosts::Scoring(const std::string& phone, int samples) {
  ASSIGN_OR_RETURN(const PassCoster* const coster, CosterOf({phone, kScorerShape}));
  const int64_t tokens = assumed_.prompt_tokens + int64_t{samples} * assumed_.answer_tokens;
  const int64_t positions = int64_t{assumed_.prompt_tokens} + assumed_.answer_tokens;
  WorkCost sum;
  const auto add = [&](int64_t rows, int64_t times) -> absl::Status {
    if (rows == 0 || times == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const PassCost pass, coster->Of({.rows = rows, .positions = positions, .logit_rows = 0}));
    sum += WorkOf(pass, static_cast<double>(times));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(add(kChunkRows, tokens / kChunkRows));
  RETURN_IF_ERROR(add(tokens % kChunkRows, 1));
  return sum;
}

}  // namespace tessera
