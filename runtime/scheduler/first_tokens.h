// The likeliest tokens that a text may begin with, for several texts after one prompt that all begin differently (paper 004, section 3.4).
//
//   stepper->Submit(FirstTokensStream(engine->tokenizer(), prompt, /*count=*/8, [&](const auto& firsts) {
//     if (!firsts.ok()) return;
//     for (const FirstToken& first : *firsts) {
//       stepper->Submit({.prompt = prompt, .text = {.max_tokens = 64, .first = first.token}, .on_end = Show});
//     }
//   }));
//   RETURN_IF_ERROR(stepper->Run());
//
// The prompt is computed once: the texts start from what that stream leaves in the cache (StepperOptions::keeps_prefixes), so each
// computes one row of the prompt, its last, all of them in one pass; every later pass has a row of each text. A text ends by its own rules,
// and gives its positions back. It has the bits of a text with this first token that is written alone.
//
// Thread-safe (pure functions); the callback is the stepper's.
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

struct FirstToken {
  TokenId token = 0;
  double probability = 0;   // At temperature 1, among all of the vocabulary.
  std::string text = {};    // What it stands for, special tokens too: perhaps a part of a character.
};

// The `count` largest logits, largest first, of equal ones the lower token first, as the sampler ranks them. Tokens that end a text are
// left out, since an answer without a word is none to choose from. Nothing else of a sampler counts here: before the first token there is
// nothing to be penalized, a temperature keeps the order, and top_k, top_p and min_p would only leave fewer than were asked for.
// logits: [vocabulary], those after the prompt. InvalidArgument for a count below 1 or above the tokens that may begin a text (found and
// expected), DataLoss if no logit is a number.
absl::StatusOr<std::vector<FirstToken>> LikeliestFirstTokens(absl::Span<const float> logits, const Tokenizer& tokenizer, int count);

// Once: the tokens, or the error of LikeliestFirstTokens or of the stream; Cancelled if that ended before its prompt was read.
using FirstTokensCallback = std::function<void(const absl::StatusOr<std::vector<FirstToken>>& firsts)>;

// A stream that reads the prompt and writes nothing. The caller may add an adapter, which the texts are to have, too, a cancel flag and
// on_wait. The tokenizer, that of the engine, must outlive the stream. on_found is called at the stream's end and may submit streams.
StreamOptions FirstTokensStream(const Tokenizer& tokenizer, std::vector<TokenId> prompt, int count, FirstTokensCallback on_found);

}  // namespace tessera
