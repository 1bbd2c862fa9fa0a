// Reads a prompt into a session, and lets a speculator learn from it what the model says on the way.
//
//   Speculator speculator(std::make_unique<CalibratedTree>(), {});
//   RETURN_IF_ERROR(AppendPrompt(*session, &speculator, prompt));
//   speculator.prompt();                                               // learnt from 28 of 512 tokens
//   ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, {.speculator = &speculator}));
//
// Logits after every token of a prompt would cost a fourth of its time in a small model, whose head is large. So they are computed for as
// many tokens as kLearningShare of the multiplications allows, the same on every machine: where the tokens that
// the prompt has most often stand last. A streamed model's head is not read for it: only rows of the last pass teach, and only so many
// as are multiplied together with the prompt's last row, which needs the head anyway.
// Threads: as Session.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/runtime/session.h"
#include "tessera/spec/speculator.h"

namespace tessera {

// Of the multiplications of a prompt, those of the head. They take up to three times as long (few rows at a time, a large result), and the
// last layer computes these rows, too, an eighth more in SmolLM2: still this is less than 5 % of the time.
constexpr double kLearningShare = 0.015;

// Appends tokens as Session::Append does: the same logits, the same errors, after which nothing is learnt. A null speculator
// learns nothing.
absl::Status AppendPrompt(Session& session, Speculator* speculator, absl::Span<const TokenId> tokens);

// Of `count` tokens, after how many logits may be computed within the share.
int RowsToLearn(const ModelConfig& config, int count);

// The places in `tokens` to learn from, ascending: at most `count`, none before `begin`, of equal tokens the last.
std::vector<int> PlacesToLearn(absl::Span<const TokenId> tokens, int begin, int count);

}  // namespace tessera
