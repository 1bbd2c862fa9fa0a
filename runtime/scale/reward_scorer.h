// Scores texts by a reward head on a model's hidden states (model/reward_head.h): at the text's end, or at the end of each step.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<RewardScorer> scorer, RewardScorer::Open(*engine, "reward.safetensors", {}));
//   ASSIGN_OR_RETURN(const double score, scorer->Score({.prompt = prompt, .tokens = tokens}));       // 0.83: 0 to 1
//
//   const RewardScorer::Options by_steps = {.steps = {.delimiter = "\n\n", .aggregate = StepAggregate::kMin}};
//   ASSIGN_OR_RETURN(const std::vector<double> scores, scorer->ScoreSteps(sample));                  // {0.9, 0.83}
//
// The text is the sample's prompt and tokens, in the vocabulary of the scorer's engine. This may be the engine that generates, or another.
// Tokens at the end of the sample that end a text are left out. Steps are the steps of the sample, not of the prompt (step_ends.h). In a
// sample without tokens, the prompt's end is scored.
//
// Cached tokens of a text are not computed again. If the scorer's engine generated the text, a score costs little more than a row, and the
// prompt is computed once for all samples. The scores of steps are remembered for the last kRemembered texts: in a beam search, only the
// last step of each beam is new. A score's bits depend on the text alone, not on earlier scores or on text that was generated or dropped.
//
// Memory: one text of at most a context in the cache during a score. Between two scores only prefixes stay, until the room is needed. An
// engine for several texts counts a scorer as one more text (Workload::sessions).
//
// Errors: the errors of reading a text (found, expected). InvalidArgument for a sample without prompt and tokens.
//
// Threads: as the engine's sessions.
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

// Combines the scores of several steps into one score.
enum class StepAggregate : uint8_t { kLast, kMin, kProduct };

// Returns the aggregate named "last", "min" or "product"; WrongUsage (steps) for any other name.
absl::StatusOr<StepAggregate> StepAggregateOfName(absl::string_view name);

// The scored parts of a text.
struct StepRule {
  std::string delimiter = {};                        // Ends a step and belongs to the step. Empty: the text is one step.
  StepAggregate aggregate = StepAggregate::kLast;    // Combines the scores of several steps.
};

// Options of a scorer.
struct RewardScorerOptions {
  StepRule steps = {};
  // True: a last step without delimiter is read as if the step ended with the delimiter's last token. Public process reward models were
  // trained on such steps. Requires a delimiter.
  bool closes_last_step = false;
};

// Scores texts with a reward head.
class RewardScorer : public Scorer {
 public:
  using Options = RewardScorerOptions;
  static constexpr int kRemembered = 64;

  // Reads the head and creates a scorer. Errors: the errors of RewardHead::Open. WrongUsage (scorer) for an engine that switches graphs.
  // WrongUsage (steps) for options that need a delimiter without one. REQUIRES: the engine's weights are loaded.
  static absl::StatusOr<std::unique_ptr<RewardScorer>> Open(Engine& engine, const std::string& path, const Options& options);
  // Creates a scorer for a head that was read before. Errors: as Open, and the error of RewardHead::CheckFits.
  static absl::StatusOr<std::unique_ptr<RewardScorer>> Create(Engine& engine, std::shared_ptr<const RewardHead> head,
                                                              const Options& options);
  ~RewardScorer() override;

  absl::string_view name() const override { return "reward"; }
  absl::StatusOr<double> Score(const SampleText& sample) override;
  // Returns one score per step; at least one.
  absl::StatusOr<std::vector<double>> ScoreSteps(const SampleText& sample);

  const RewardHead& head() const { return *head_; }
  int64_t rows() const;   // Rows computed for scores so far.

 private:
  // A scored text: the last token of each step, and the steps' scores.
  struct Scored {
    std::vector<TokenId> tokens;
    std::vector<int> ends;
    std::vector<double> scores;
  };
  RewardScorer(Engine& engine, std::shared_ptr<const RewardHead> head, const Options& options);
  absl::StatusOr<Scored> TextOf(const SampleText& sample) const;
  // Fills in the scores of the first steps, as far as a remembered text has the same steps.
  void Recall(Scored& text);
  void Remember(const Scored& text);

  const Tokenizer& tokenizer_;
  const std::shared_ptr<const RewardHead> head_;
  const Options options_;
  const std::unique_ptr<TextReader> reader_;
  std::list<Scored> remembered_;   // The last one first.
};

// Combines scores. REQUIRES: at least one score.
double Aggregate(StepAggregate aggregate, absl::Span<const double> scores);

}  // namespace tessera
