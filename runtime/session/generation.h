// How a text is written, and what came of it: limits, stop rules and callbacks of one text, and its result.
//
//   GenerateOptions options = {.max_tokens = 128, .stop = {"\n\n"}, .on_text = [](absl::string_view text) { Print(text); }};
//   ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, options));     // decode_loop.h
//   FinishReasonName(result.reason);                                               // "stop string"
//
// Values. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/spec/policies/prune_gate.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

class ExitPredictor;
class LayerListener;
class SharedHistory;

enum class FinishReason { kEndToken, kStopString, kLength, kContextFull, kCancelled };

// "end of text", "stop string", "length", "context full", "cancelled".
absl::string_view FinishReasonName(FinishReason reason);

// Drafts are pruned half-way through the layers (docs/lever.md). The text has the same bits, whatever the predictor and the rule are.
struct Pruning {
  const ExitPredictor* predictor = nullptr;   // For this engine's model (model/exit_predictor.h); must outlive the text. Null: no pruning.
  PruneOptions rule = {};
  bool weigh_costs = true;                    // False: wherever the rule could drop a row, whether that saves time or not.
};

// How a draft that was sampled is accepted. kMatch: where the sampler chooses the same token; the text has the bits of plain decoding.
// kRejection: by spec/trees/rejection.h, more often; the text has the distribution of plain decoding and, as what is drafted depends on
// measured times, other tokens from run to run.
enum class DraftRule : uint8_t { kMatch, kRejection };

struct GenerateOptions {
  int max_tokens = 0;                                    // 0: until the context is full.
  std::vector<std::string> stop = {};                    // Never shown; may span tokens, or be the text of a special token.
  uint64_t stream = 0;                                   // The stream of the sampler's draws: parallel samples differ in it.
  // The text begins with this token, whatever the sampler would say: it counts as written, is shown, and may end the text
  // (first_tokens.h). InvalidArgument if it is not in the vocabulary. Nullopt: the sampler chooses.
  std::optional<TokenId> first = std::nullopt;
  bool starts_text = false;                              // See TextStreamOptions.
  bool ignore_end = false;                               // Go on after end tokens (benchmarks).
  std::function<void(absl::string_view text)> on_text = nullptr;  // Whole characters, as they become certain.
  // Each token as it is chosen, with the logits that it was chosen from: [vocabulary], valid during the call.
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token = nullptr;
  DraftRule rule = DraftRule::kMatch;                    // For drafters that sample; others are not affected.
  Speculator* speculator = nullptr;                      // For this stream alone. Null: each pass gives one token.
  // What the texts of its set write (spec/drafters/history/shared_history.h): a drafter "siblings" of the speculator adds this text, and
  // drafts from the others. One thread drives all of them. Null: it is in none.
  std::shared_ptr<SharedHistory> siblings = nullptr;
  Pruning prune = {};                                    // Whether and how its drafts are.
  // Told what layers make of the text's tokens (layer_states.h): a draft head of this text. Must outlive it. Null: the
  // speculator's, if one of its drafters wants to know.
  LayerListener* listener = nullptr;
  double measure_seconds = 0;                            // For MeasureCosts after the first token, if the speculator wants costs.
};

struct Generation {
  std::vector<TokenId> tokens = {}; // As chosen, an end token included.
  std::string text = {};            // What on_text was given in all.
  FinishReason reason = FinishReason::kLength;
  int64_t passes = 0;               // Passes that gave tokens. Every token but the first came from one.
  int64_t rows = 0;                 // Rows of these passes, without those that were pruned half-way.
  PruneReport pruned = {};          // What pruning did.
  int64_t shared_tokens = 0;        // Tokens of a stepper's prompt that the cache held already (stepper.h).
};

}  // namespace tessera
