// Reads a prompt into a session, and lets a speculator learn from it what the model says on the way.
//
//   Speculator speculator(std::make_unique<CalibratedTree>(), {});
//   RETURN_IF_ERROR(AppendPrompt(*session, &speculator, prompt));
//   speculator.prompt();                                               // learnt from 28 of 512 tokens
//   ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, {.speculator = &speculator}));
//
// Logits after every token of a prompt would cost a fourth of its time in a small model, whose head is large. So they are computed only for
// as many tokens as kLearningShare of the multiplications allows, the same number on every machine. These are the most frequent tokens of
// the prompt, each at its last place. A streamed model's head is not read for this alone: only rows of the last pass get logits, and only
// as many as are multiplied together with the prompt's last row, which needs the head anyway.
// Threads: as Session.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

// How many multiplications the head may do for learning, as a share of those that the prompt takes in the layers. They take up to three
// times as long as the others (few rows at a time, a large result), and the last layer computes these rows, too, an eighth more in SmolLM2.
// All this is still less than 5 % of the time.
constexpr double kLearningShare = 0.015;

// Appends tokens as Session::Append does: the same logits, the same errors, after which nothing is learnt. A null speculator
// learns nothing. Its listener is told of the passes, in place of the session's.
absl::Status AppendPrompt(Session& session, Speculator* speculator, absl::Span<const TokenId> tokens);

// After how many of `count` tokens logits may be computed within kLearningShare.
int RowsToLearn(const ModelConfig& config, int count);

// The places in `tokens` to learn from, ascending: at most `count`, none before `begin`. Where tokens are equal, only the last counts.
std::vector<int> PlacesToLearn(absl::Span<const TokenId> tokens, int begin, int count);
// The same of what a prompt has still to be read, with this engine.
std::vector<int> PlacesToLearn(const EngineCore& core, absl::Span<const TokenId> tokens);

}  // namespace tessera
