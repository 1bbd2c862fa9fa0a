// Reads a prompt into a session. A speculator learns from the model's logits on the way.
//
//   Speculator speculator(std::make_unique<CalibratedTree>(), {});
//   RETURN_IF_ERROR(AppendPrompt(*session, &speculator, prompt));
//   speculator.prompt();                                               // learnt from 28 of 512 tokens
//   ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, {.speculator = &speculator}));
//
// Logits after every token of a prompt would cost a fourth of the prompt's time in a small model, whose head is large. Logits are therefore
// computed only for as many tokens as kLearningShare of the multiplications allows, the same number on every machine. The tokens are the
// most frequent ones of the prompt, each at its last place. A streamed model's head is not read for learning alone. Only rows of the last
// pass then get logits, and only as many as are multiplied together with the prompt's last row, which needs the head anyway.
// Threads: as Session.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

// Most multiplications of the head for learning, as a share of the layers' multiplications for the prompt. The head's multiplications take
// up to three times as long as the layers' (few rows at a time, a large result). The last layer computes the rows for learning, too: an
// eighth more in SmolLM2. Learning still takes less than 5 % of the time.
constexpr double kLearningShare = 0.015;

// Appends tokens like Session::Append, with the same logits and the same errors. After an error nothing is learnt. A null speculator learns
// nothing. The speculator's listener replaces the session's listener during the passes.
absl::Status AppendPrompt(Session& session, Speculator* speculator, absl::Span<const TokenId> tokens);

// Returns how many of `count` tokens may get logits within kLearningShare.
int RowsToLearn(const ModelConfig& config, int count);

// Returns the places in `tokens` to learn from, ascending: at most `count`, none before `begin`. Among equal tokens only the last counts.
std::vector<int> PlacesToLearn(absl::Span<const TokenId> tokens, int begin, int count);
// Returns the places to learn from in the tokens of a prompt that this engine has yet to read.
std::vector<int> PlacesToLearn(const EngineCore& core, absl::Span<const TokenId> tokens);

}  // namespace tessera
