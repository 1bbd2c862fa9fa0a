// Scores samples: one number for a text, or for the steps of a text that continues. Larger is better.
//
//   MeanLogProbabilityScorer scorer;
//   const SampleText sample = {.prompt = prompt, .tokens = generation.tokens, .text = generation.text,
//                              .mean_log_probability = confidence.mean_log_probability()};
//   ASSIGN_OR_RETURN(const double score, scorer.Score(sample));            // -0.31
//
// Select (vote.h) chooses by scores. BeamSearch (beam_search.h) keeps the steps with the largest scores. reward_scorer.h and judge_scorer.h
// have scorers that run a model.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/token.h"

namespace tessera {

// A text, whole or up to the end of a step. The referenced data must outlive the call.
struct SampleText {
  absl::Span<const TokenId> prompt = {};   // The model's input.
  absl::Span<const TokenId> tokens = {};   // The tokens generated after the prompt.
  absl::string_view text = {};             // `tokens` as text.
  double mean_log_probability = 0;         // The mean over `tokens` (confidence.h).
  double self_certainty = 0;
  // The problem as stated by a person, without a template, for scorers that ask about the answer (judge_scorer.h). Empty: the text of
  // `prompt`, without special tokens.
  absl::string_view problem = {};
};

// Scores samples. Threads: thread-compatible.
class Scorer {
 public:
  virtual ~Scorer() = default;

  // Returns the scorer's name for --scorer.
  virtual absl::string_view name() const = 0;
  // Returns the score of a sample. A score that is no number ranks below all other scores. Errors: the errors of the scorer's passes.
  virtual absl::StatusOr<double> Score(const SampleText& sample) = 0;
};

// Scores a sample by its mean log-probability.
class MeanLogProbabilityScorer : public Scorer {
 public:
  absl::string_view name() const override { return "mean_log_probability"; }
  absl::StatusOr<double> Score(const SampleText& sample) override { return sample.mean_log_probability; }
};

// Scores a sample by its self-certainty.
class SelfCertaintyScorer : public Scorer {
 public:
  absl::string_view name() const override { return "self_certainty"; }
  absl::StatusOr<double> Score(const SampleText& sample) override { return sample.self_certainty; }
};

}  // namespace tessera
