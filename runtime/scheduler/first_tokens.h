// Finds the likeliest first tokens of an answer, for several sequences that share a prompt and all begin differently (the one-for-all
// paper, section 3.4).
//
//   stepper->Submit(FirstTokensStream(engine->tokenizer(), prompt, /*count=*/8, [&](const auto& firsts) {
//     if (!firsts.ok()) return;
//     for (const FirstToken& first : *firsts) {
//       stepper->Submit({.prompt = prompt, .text = {.max_tokens = 64, .first = first.token}, .on_end = Show});
//     }
//   }));
//   RETURN_IF_ERROR(stepper->Run());
//
// The prompt is computed once. The sequences start from the prefix that the first stream leaves in the cache
// (StepperOptions::keeps_prefixes). Each sequence therefore computes one row of the prompt, the last row; all sequences do so in one
// pass. Every later pass has a row of each sequence. A sequence ends by its own rules, and then frees its positions. Each sequence has the
// bits of a sequence with the same first token that is generated alone.
//
// Threads: thread-safe (pure functions). The scheduler's thread calls the callback.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/scheduler/stream.h"

namespace tessera {

// A candidate for the first token of an answer.
struct FirstToken {
  TokenId token = 0;
  double probability = 0;   // At temperature 1, over the whole vocabulary.
  std::string text = {};    // The token's text, also for special tokens. May be a part of a character.
};

// Returns the tokens with the `count` largest logits, largest first. Among equal logits the lower token comes first, as in the sampler.
// Tokens that end a sequence are left out, since an answer without a word is no useful choice. No other sampler option matters here: before
// the first token nothing can be penalized, and a temperature keeps the order. The options top_k, top_p and min_p would only leave fewer
// tokens than requested. logits: [vocabulary], after the prompt.
//
// Errors: InvalidArgument (found and expected) for a count below 1 or above the number of tokens that may begin a sequence. DataLoss if no
// logit is a number.
absl::StatusOr<std::vector<FirstToken>> LikeliestFirstTokens(absl::Span<const float> logits, const Tokenizer& tokenizer, int count);

// Called once, with the tokens or with an error. The error comes from LikeliestFirstTokens or from the stream. Cancelled: the stream ended
// before the prompt was read.
using FirstTokensCallback = std::function<void(const absl::StatusOr<std::vector<FirstToken>>& firsts)>;

// Returns options of a stream that reads the prompt and generates nothing. The caller may add an adapter (the later sequences need the same
// adapter), a cancel flag and on_wait. The tokenizer is the engine's and must outlive the stream. on_found is called at the stream's end
// and may submit streams.
StreamOptions FirstTokensStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt, int count, FirstTokensCallback on_found);

}  // namespace tessera
