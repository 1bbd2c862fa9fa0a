// Writes text: one token after another from a session, until an end token, a stop string, a limit, or the caller says stop.
//
//   GenerateOptions options = {.max_tokens = 128, .stop = {"\n\n"}, .on_text = [](absl::string_view text) { Print(text); }};
//   ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, options));
//
// The prompt is in the session already. The same session, sampler and stream give the same tokens on every machine, and a speculator
// changes none of them: with one, a pass may give several. Threads: as Session. The cancel flags of session and engine end it with
// kCancelled, which is no error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/session.h"
#include "tessera/spec/speculator.h"

namespace tessera {

enum class FinishReason { kEndToken, kStopString, kLength, kContextFull, kCancelled };

// "end of text", "stop string", "length", "context full", "cancelled".
absl::string_view FinishReasonName(FinishReason reason);

struct GenerateOptions {
  int max_tokens = 0;                                    // 0: until the context is full.
  std::vector<std::string> stop = {};                    // Never shown; may span tokens, or be the text of a special token.
  uint64_t stream = 0;                                   // The stream of the sampler's draws: parallel samples differ in it.
  bool starts_text = false;                              // See TextStreamOptions.
  bool ignore_end = false;                               // Go on after end tokens (benchmarks).
  std::function<void(absl::string_view text)> on_text = nullptr;  // Whole characters, as they become certain.
  // Each token as it is chosen, with the logits that it was chosen from: [vocabulary], valid during the call.
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token = nullptr;
  Speculator* speculator = nullptr;                      // For this stream alone. Null: each pass gives one token.
  double measure_seconds = 0;                            // For MeasureCosts after the first token, if the speculator wants costs.
};

struct Generation {
  std::vector<TokenId> tokens = {}; // As chosen, an end token included.
  std::string text = {};            // What on_text was given in all.
  FinishReason reason = FinishReason::kLength;
  int64_t passes = 0;               // Passes that gave tokens. Every token but the first came from one.
  int64_t rows = 0;                 // Rows of these passes.
};

// The session afterwards holds the prompt and every token of the result but the last chosen, which has not been computed on. Its logits
// may be unknown after a cancelled or failed pass over a draft.
// FailedPrecondition if the session is empty; otherwise the first error of a pass, or session.h's where memory ends.
absl::StatusOr<Generation> Generate(Session& session, const Sampler& sampler, const GenerateOptions& options);

}  // namespace tessera
