// Scores answers by a model as judge. The model is asked whether an answer is right; the score is the probability of yes against no.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<JudgeScorer> judge, JudgeScorer::Create(*engine, {}));
//   ASSIGN_OR_RETURN(const double score, judge->Score({.text = "It is 4.", .problem = "What is 2 + 2?"}));   // 0.71: 0 to 1
//
// The question has the places {problem} and {answer}, and is a message in the model's chat template. A model without a template continues
// the raw question; the words yes and no then begin with a space. The contents of the two places are plain text, even where the contents
// look like marks of a dialogue. The score is P(yes) / (P(yes) + P(no)) at the first token after the question, by the model's own
// distribution at temperature 1. Each word counts by its first token. The score is P(True) of Kadavath et al. 2022 (arXiv 2207.05221), the
// direct verifier of Zhang et al. 2024 (arXiv 2408.15240, section 3.1). The judge may be the engine that generates, or any other engine.
//
// The score depends on problem and answer alone, to the bit. The prefix of the question up to the answer is computed once while the prefix
// stays in the cache.
//
// Memory: as RewardScorer, and one row of logits.
//
// Threads: as the engine's sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/token.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scale/scorer.h"

namespace tessera {

class TextReader;

inline constexpr char kJudgeProblem[] = "{problem}", kJudgeAnswer[] = "{answer}";
inline constexpr int64_t kJudgeDate = 1'735'689'600;   // 2025 begins: a template that renders a date gives the same scores each day.

// The question of the judge.
struct JudgeScorerOptions {
  std::string question = "Here are a problem and an answer to it.\n\nProblem:\n{problem}\n\nAnswer:\n{answer}\n\n"
                         "Is this answer right? Check each step. Say Yes or No:";
  std::string yes = "Yes", no = "No";
  ConversationOptions conversation = {.date = [] { return kJudgeDate; }};
};

// Asks a model whether answers are right.
class JudgeScorer : public Scorer {
 public:
  using Options = JudgeScorerOptions;

  // Creates a judge on `engine`. InvalidArgument (found, expected) for a question without one of the places, and for words that have no
  // first token or share the first token. WrongUsage (scorer) for an engine that switches graphs. Otherwise the errors of
  // Conversation::Create. REQUIRES: the engine's weights are loaded.
  static absl::StatusOr<std::unique_ptr<JudgeScorer>> Create(Engine& engine, const Options& options);
  ~JudgeScorer() override;

  absl::string_view name() const override { return "judge"; }
  // Scores problem and text. For an empty problem or text, uses the text of `prompt` or `tokens`. Returns not-a-number if the question is
  // longer than the context. Errors: the errors of passes.
  absl::StatusOr<double> Score(const SampleText& sample) override;

  // Returns the model's input: the question in the chat template. Errors: the error of Conversation::Tokens.
  absl::StatusOr<std::vector<TokenId>> Question(const SampleText& sample);

 private:
  JudgeScorer(Engine& engine, const Options& options, Conversation conversation);
  absl::Status FindWords(const Options& options);
  std::string TextOf(absl::Span<const TokenId> tokens) const;

  const Tokenizer& tokenizer_;
  const std::string question_;
  Conversation conversation_;
  TokenId yes_ = 0, no_ = 0;
  const std::unique_ptr<TextReader> reader_;
  std::vector<float> logits_;
};

}  // namespace tessera
