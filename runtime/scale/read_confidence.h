// Measures a model's confidence in a given text of any origin: the scores of TextConfidence as if the model had generated the text.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
//   ASSIGN_OR_RETURN(const TextConfidence confidence, ReadConfidence(*session, prompt, tokens));
//   confidence.mean_log_probability();                                               // -1.8: of a token, in nats
//
// Afterwards the session holds the text. The next call does not compute a common prefix of the prompt again. An engine for these calls must
// plan logits of each row (Workload::logits_of_each).
//
// Threads: as the session.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

// Reads `tokens` after `prompt`, and returns the confidence of `tokens`. Errors: the errors of Session::AppendEach, and InvalidArgument
// (found, expected) for a prompt without tokens.
absl::StatusOr<TextConfidence> ReadConfidence(Session& session, absl::Span<const TokenId> prompt, absl::Span<const TokenId> tokens);

}  // namespace tessera
