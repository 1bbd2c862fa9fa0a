// Scores texts by a reward head on a model's hidden states (model/reward_head.h): at their end, or at the end of each step.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<RewardScorer> scorer, RewardScorer::Open(*engine, "reward.safetensors", {}));
//   ASSIGN_OR_RETURN(const double score, scorer->Score({.prompt = prompt, .tokens = tokens}));       // 0.83: 0 to 1
//
//   const RewardScorer::Options by_steps = {.steps = {.delimiter = "\n\n", .aggregate = StepAggregate::kMin}};
//   ASSIGN_OR_RETURN(const std::vector<double> scores, scorer->ScoreSteps(sample));                  // {0.9, 0.83}
//
// The text is the sample's prompt and tokens, in the vocabulary of the scorer's engine, which may be that which writes or another. Tokens
// that end a text, at its end, are left out. Steps are those of the sample, not of the prompt (step_ends.h). In a sample without tokens the
// prompt's end is scored.
//
// What the cache holds of a text is not computed again: where the scorer's engine wrote it, a score takes little more than a row, and the
// prompt is computed once for all samples. Scores of steps are remembered for the last kRemembered texts: in a beam search, only the last
// step of each beam is new. A score's bits are those of the text alone, whatever was scored, written or dropped before.
//
// Memory: one text of at most a context in the cache while it scores; nothing between two scores but prefixes, which go when room is
// wanted. An engine for several texts counts it as one more (Workload::sessions).
// Errors: those of reading a text (found, expected); InvalidArgument for a sample without prompt and tokens. Threads: those of the engine's
// sessions.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/reward_head.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scale/scorer.h"

namespace tessera {

class TextReader;

enum class StepAggregate : uint8_t { kLast, kMin, kProduct };

// "last", "min", "product"; WrongUsage (steps) for any other.
absl::StatusOr<StepAggregate> StepAggregateOfName(absl::string_view name);

// What of a text is scored.
struct StepRule {
  std::string delimiter = {};                        // Ends a step, and is part of it. Empty: the text is one step.
  StepAggregate aggregate = StepAggregate::kLast;    // What the scores of several steps come to.
};

struct RewardScorerOptions {
  StepRule steps = {};
  // A last step that does not end with the delimiter is read as if it did, by the delimiter's last token: what public process reward
  // models were trained on. Needs a delimiter.
  bool closes_last_step = false;
};

class RewardScorer : public Scorer {
 public:
  using Options = RewardScorerOptions;
  static constexpr int kRemembered = 64;

  // Reads the head. The errors of RewardHead::Open; WrongUsage (scorer) for an engine that switches graphs, (steps) for options that need a
  // delimiter without one. REQUIRES: the engine's weights are loaded.
  static absl::StatusOr<std::unique_ptr<RewardScorer>> Open(Engine& engine, const std::string& path, const Options& options);
  // The same for a head that was read. The error of RewardHead::CheckFits, too.
  static absl::StatusOr<std::unique_ptr<RewardScorer>> Create(Engine& engine, std::shared_ptr<const RewardHead> head,
                                                              const Options& options);
  ~RewardScorer() override;

  absl::string_view name() const override { return "reward"; }
  absl::StatusOr<double> Score(const SampleText& sample) override;
  // One for each step, at least one.
  absl::StatusOr<std::vector<double>> ScoreSteps(const SampleText& sample);

  const RewardHead& head() const { return *head_; }
  int64_t rows() const;   // That scoring has computed so far.

 private:
  // A text that was scored: the places of its steps' ends, and their scores.
  struct Scored {
    std::vector<TokenId> tokens;
    std::vector<int> ends;
    std::vector<double> scores;
  };
  RewardScorer(Engine& engine, std::shared_ptr<const RewardHead> head, const Options& options);
  absl::StatusOr<Scored> TextOf(const SampleText& sample) const;
  // Scores of its first ends, as far as a remembered text has the same.
  void Recall(Scored& text);
  void Remember(const Scored& text);

  const Tokenizer& tokenizer_;
  const std::shared_ptr<const RewardHead> head_;
  const Options options_;
  const std::unique_ptr<TextReader> reader_;
  std::list<Scored> remembered_;   // The last one first.
};

// REQUIRES: at least one.
double Aggregate(StepAggregate aggregate, absl::Span<const double> scores);

}  // namespace tessera
