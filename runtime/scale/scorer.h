// What a sample is worth: one number for a text, or for the steps of one that goes on. Larger is better.
//
//   MeanLogProbabilityScorer scorer;
//   const SampleText sample = {.prompt = prompt, .tokens = generation.tokens, .text = generation.text,
//                              .mean_log_probability = confidence.mean_log_probability()};
//   ASSIGN_OR_RETURN(const double score, scorer.Score(sample));            // -0.31
//
// Select (vote.h) chooses by scores, BeamSearch (beam_search.h) keeps the steps with the largest. reward_scorer.h and judge_scorer.h have
// scorers that run a model.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/token.h"

namespace tessera {

// A text, whole or up to the end of a step. What it points at must outlive the call.
struct SampleText {
  absl::Span<const TokenId> prompt = {};   // What the model was given.
  absl::Span<const TokenId> tokens = {};   // What it wrote after that.
  absl::string_view text = {};             // The same, as text.
  double mean_log_probability = 0;         // That of `tokens` (confidence.h).
  double self_certainty = 0;
  // The problem as a person states it, without a template, for those that ask about the answer (judge_scorer.h). Empty: the text of
  // `prompt`, special tokens left out.
  absl::string_view problem = {};
};

// Thread-compatible.
class Scorer {
 public:
  virtual ~Scorer() = default;

  // As --scorer names it.
  virtual absl::string_view name() const = 0;
  // Errors: those of the passes that it takes. A score that is no number counts as below all others.
  virtual absl::StatusOr<double> Score(const SampleText& sample) = 0;
};

class MeanLogProbabilityScorer : public Scorer {
 public:
  absl::string_view name() const override { return "mean_log_probability"; }
  absl::StatusOr<double> Score(const SampleText& sample) override { return sample.mean_log_probability; }
};

class SelfCertaintyScorer : public Scorer {
 public:
  absl::string_view name() const override { return "self_certainty"; }
  absl::StatusOr<double> Score(const SampleText& sample) override { return sample.self_certainty; }
};

}  // namespace tessera
