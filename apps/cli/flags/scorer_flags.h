// The scorers that --scorer names. A scorer rates a sample, so that the best of several samples can be chosen (runtime/scale/scorer.h).
//
//   RETURN_IF_ERROR(CheckScorer(FLAGS_scorer));                       // before anything is opened
//   ... plans of the texts themselves ...
//   RETURN_IF_ERROR(PlanScorer(FLAGS_scorer, options));               // after them: memory plans include what scoring takes
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
//   ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, MakeScorer(FLAGS_scorer, *engine));
//   ASSIGN_OR_RETURN(const double score, scorer->Score({.prompt = prompt, .tokens = tokens, .text = text, .problem = problem}));
//
//   mean_log_probability   what the model's own distribution says of the text, per token
//   self_certainty         how far that distribution is from all tokens being as likely
//   reward:FILE            a reward head on the model's hidden states (model/reward_head.h)
//   judge                  the model itself, asked whether the answer is right (runtime/scale/judge_scorer.h)
//   judge:PROMPTFILE       the same with a question of your own, which has the places {problem} and {answer}
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/scale/reward_scorer.h"
#include "tessera/runtime/scale/scorer.h"

namespace tessera {

enum class ScorerKind : uint8_t { kMeanLogProbability, kSelfCertainty, kReward, kJudge };

struct ScorerSpec {
  ScorerKind kind = ScorerKind::kMeanLogProbability;
  std::string file = {};   // A head, or a judge's question; empty: the default question.
};

// Parses a scorer. WrongUsage (scorer) for anything that is not listed above. Reads no file.
absl::StatusOr<ScorerSpec> ParseScorer(absl::string_view spec);

// Checks that the scorer can be parsed and that the scorer's file can be opened. WrongUsage (scorer) if the path leads nowhere or to no
// file. Reads a judge's question. A head is checked later, by MakeScorer, which knows the model.
absl::Status CheckScorer(absl::string_view spec);

// Returns true if scoring runs passes of the model.
bool RunsModel(const ScorerSpec& spec);

// Returns true for the head of a public process reward model. Such a head gets only the statement of a problem. Opens the head; errors as
// MakeScorer. REQUIRES: the engine's weights are loaded.
absl::StatusOr<bool> ReadsStatements(const ScorerSpec& spec, const Engine& engine);

// Makes memory plans include the memory of scoring, in addition to the texts. reward and judge need one more text of up to a context in the
// cache (Workload::sessions, and CacheOptions::cache_tokens or text_share), and a row of logits. The other scorers need nothing. A score
// continues the text as far as the cache still holds the text. The plan counts the worst case, since a judge's question is a text of its
// own. Between two scores only prefixes are held, which are dropped when room is needed. A head's numbers count as drafting does
// (Workload::drafting_bytes). Errors: as CheckScorer; WrongUsage (scorer) for reward and judge where graphs are switched.
absl::Status PlanScorer(absl::string_view spec, EngineOptions& options);

struct ScorerOptions {
  // reward: the places where a text is scored; by default the text's end. A beam search sets its delimiter here. The head of a public
  // process reward model then reads a last step without delimiter as if the step ended with one (RewardScorerOptions::closes_last_step).
  StepRule steps = {};
  // judge: true: the model continues the raw question. Else the question is a message in the template of --chat_template, or in the model's
  // own.
  bool raw = false;
};

// Makes a scorer. Errors: as ParseScorer and PlanScorer; WrongUsage (scorer) for a faulty head or question file, and for a judge if the
// tokenizer has no token for one of the two answers. REQUIRES: the engine's weights are loaded, and the engine outlives the scorer.
absl::StatusOr<std::unique_ptr<Scorer>> MakeScorer(absl::string_view spec, Engine& engine, const ScorerOptions& options = {});

}  // namespace tessera
