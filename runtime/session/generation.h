// The generation of one sequence: limits, stop rules and callbacks, and the result.
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

// Returns "end of text", "stop string", "length", "context full" or "cancelled".
absl::string_view FinishReasonName(FinishReason reason);

// Pruning of drafts half-way through the layers (docs/lever.md). The text has the same bits with every predictor and rule.
struct Pruning {
  // For this engine's model (model/exit_predictor.h). Must outlive the generation. Null: no pruning.
  const ExitPredictor* predictor = nullptr;
  PruneOptions rule = {};
  // False: drops a row wherever the rule allows, even if dropping saves no time.
  bool weigh_costs = true;
};

// The acceptance of a sampled draft.
// kMatch: accepts a draft token if the sampler chooses the same token; the text has the bits of plain decoding.
// kRejection: accepts by spec/trees/rejection.h, more often. The text has the distribution of plain decoding. The tokens differ from run to
// run, since drafts depend on measured times.
enum class DraftRule : uint8_t { kMatch, kRejection };

struct GenerateOptions {
  int max_tokens = 0;                                    // 0: until the context is full.
  // Strings that end the text and are never shown. A string may span tokens, or be the text of a special token.
  std::vector<std::string> stop = {};
  uint64_t stream = 0;                                   // The stream of the sampler's draws, different for each parallel sample.
  // First token of the text, instead of the sampler's choice. The token counts as written, is shown, and may end the text (first_tokens.h).
  // InvalidArgument if the token is not in the vocabulary. nullopt: the sampler chooses.
  std::optional<TokenId> first = std::nullopt;
  bool starts_text = false;                              // TextStreamOptions::starts_text.
  bool ignore_end = false;                               // Whether to continue after end tokens (benchmarks).
  std::function<void(absl::string_view text)> on_text = nullptr;  // Gets whole characters, as soon as certain.
  // Gets each token when chosen, with the logits from which the token was chosen: [vocabulary], valid during the call.
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token = nullptr;
  DraftRule rule = DraftRule::kMatch;                    // For drafters that sample; does not affect others.
  Speculator* speculator = nullptr;                      // For this stream alone. Null: each pass gives one token.
  // History of the set of sequences that this sequence belongs to (spec/drafters/history/shared_history.h). A drafter "siblings" of the
  // speculator adds this sequence, and drafts from the others. One thread drives the whole set. Null: no set.
  std::shared_ptr<SharedHistory> siblings = nullptr;
  Pruning prune = {};                                    // Pruning of this sequence's drafts.
  // Gets hidden states of the sequence's tokens (layer_states.h): a draft head of this sequence. Must outlive the generation. Null: the
  // speculator's listener, if one of the speculator's drafters wants states.
  LayerListener* listener = nullptr;
  // Seconds for MeasureCosts after the first token, if the speculator wants costs.
  double measure_seconds = 0;
};

struct Generation {
  std::vector<TokenId> tokens = {}; // As chosen, including an end token.
  std::string text = {};            // All that on_text got.
  FinishReason reason = FinishReason::kLength;
  // Passes that gave tokens. Every token except the first came from such a pass.
  int64_t passes = 0;
  int64_t rows = 0;                 // Rows of the passes, without rows that were pruned half-way.
  PruneReport pruned = {};          // Results of pruning.
  // Tokens of a scheduler's prompt that the cache held already (stepper.h).
  int64_t shared_tokens = 0;
};

}  // namespace tessera
