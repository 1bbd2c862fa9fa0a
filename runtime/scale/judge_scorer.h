// A model as judge: it is asked whether an answer is right, and the score is how likely it says yes rather than no.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<JudgeScorer> judge, JudgeScorer::Create(*engine, {}));
//   ASSIGN_OR_RETURN(const double score, judge->Score({.text = "It is 4.", .problem = "What is 2 + 2?"}));   // 0.71: 0 to 1
//
// The question has the places {problem} and {answer}, and is a message in the model's chat template; a model without one goes on with the
// question as it is, and then the words begin with a space. What stands in the two places is text, whatever marks of a dialogue are written
// there. The score is P(yes) / (P(yes) + P(no)) at the first token after that, by the model's own distribution at temperature 1, where each
// word counts by its first token: P(True) of Kadavath et al. 2022 (arXiv 2207.05221), the direct verifier of Zhang et al. 2024 (arXiv
// 2408.15240, section 3.1). The judge may be the engine that writes, or any other.
//
// A score is that of problem and answer alone, to the bit. The beginning of the question up to the answer is computed once while it stays
// in the cache. Memory: as RewardScorer has it, and a row of logits. Threads: those of the engine's sessions.
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
inline constexpr int64_t kJudgeDate = 1'735'689'600;   // 2025 begins: a template that writes the date makes the same scores each day.

struct JudgeScorerOptions {
  std::string question = "Here are a problem and an answer to it.\n\nProblem:\n{problem}\n\nAnswer:\n{answer}\n\n"
                         "Is this answer right? Check each step. Say Yes or No:";
  std::string yes = "Yes", no = "No";
  ConversationOptions conversation = {.date = [] { return kJudgeDate; }};
};

class JudgeScorer : public Scorer {
 public:
  using Options = JudgeScorerOptions;

  // InvalidArgument (found, expected) for a question without one of its places, and for words that begin with the same token or with none;
  // WrongUsage (scorer) for an engine that switches graphs; the errors of Conversation::Create. REQUIRES: the engine's weights are loaded.
  static absl::StatusOr<std::unique_ptr<JudgeScorer>> Create(Engine& engine, const Options& options);
  ~JudgeScorer() override;

  absl::string_view name() const override { return "judge"; }
  // Reads problem and text; where one is empty, the text of `prompt` or `tokens`. Not a number where the question
  // is longer than the context. Errors: those of the passes.
  absl::StatusOr<double> Score(const SampleText& sample) override;

  // What the model is given: the question in its form. The error of Conversation::Tokens.
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
