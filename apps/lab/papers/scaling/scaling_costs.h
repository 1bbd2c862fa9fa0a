// Costs of samples of one problem on a phone by mailbox (the test-time scaling paper): steps of many rows, whole answers, and a scorer that
// reads answers.
//
//   KnownModels models;
//   ScalingCosts costs(profiles, models);
//   ASSIGN_OR_RETURN(const PassCost step, costs.Step({"8gen3", "qwen2.5-1.5b"}, /*rows=*/8, /*positions=*/1024));
//   ASSIGN_OR_RETURN(const WorkCost answers, costs.Answers({"8gen3", "qwen2.5-1.5b"}, /*samples=*/8));
//   Print(step.seconds, answers.seconds, answers.joules);
//
// Weights are those of recipe 001, and the head is the CPU's (section 7.2.2). ScalingAssumptions has the facts that the paper does not
// state about its questions. Joules are of assumed powers: compare ratios alone. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/papers/figures/coster_cache.h"

namespace tessera {

inline constexpr char kScalingRecipe[] = "001", kScalingStyle[] = "operators";
inline constexpr char kScorerShape[] = "qwen2.5-1.5b";   // Section 7.1: Skywork-1.5B-PRM, a Qwen2.5 1.5B with another head.
inline constexpr int64_t kScalingContext = 4096;         // Section 7.5: the measured budget of the caches.

// A shape on a phone.
struct ScalingModel {
  std::string phone = {}, shape = {};
};

struct ScalingAssumptions {
  int step_positions = 1024;   // In the cache, for a single step: as tessera_reproduce npu uses for the head's share.
  int prompt_tokens = 128;     // A question,
  int answer_tokens = 512;     // and each of its answers.
  // Each row attends over the cache of all samples, whose other tokens are masked. We read "the increased context length introduced by TTS"
  // (section 7.2.1) so: the paper's cache is llama.cpp's, one for all texts. False: over the question and its own answer.
  bool all_samples = true;
};

struct WorkCost {
  double seconds = 0, joules = 0;

  WorkCost& operator+=(const WorkCost& other) {
    seconds += other.seconds;
    joules += other.joules;
    return *this;
  }
};

class ScalingCosts {
 public:
  // Both must outlive this.
  ScalingCosts(const ProfileSet& profiles, KnownModels& models, const ScalingAssumptions& assumptions = {})
      : assumed_(assumptions), costers_(profiles, models) {}

  // Returns the cost of a step of `rows` rows. The errors of CosterCache, and of costs. REQUIRES of all functions here: rows, positions and
  // samples are positive.
  absl::StatusOr<PassCost> Step(const ScalingModel& model, int64_t rows, int64_t positions);
  // Returns the cost of `samples` answers to a question, with one step for all answers at a time.
  absl::StatusOr<WorkCost> Answers(const ScalingModel& model, int samples);
  // Returns the cost of a question's prompt, once.
  absl::StatusOr<WorkCost> Prompt(const ScalingModel& model);
  // Returns the cost of a scorer that reads a question and `samples` answers, without the scorer's own head.
  absl::StatusOr<WorkCost> Scoring(const std::string& phone, int samples);

  absl::StatusOr<const PassCoster*> CosterOf(const ScalingModel& model);
  absl::StatusOr<const DeviceProfile*> ProfileOf(const std::string& phone) const { return costers_.ProfileOf(phone); }
  const ScalingAssumptions& assumptions() const { return assumed_; }

 private:
  const ScalingAssumptions assumed_;
  CosterCache costers_;
};

}  // namespace tessera
