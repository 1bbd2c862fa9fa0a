// How sure a model is of a text that it is given, whoever wrote it: the figures of TextConfidence as if the model had written it.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
//   ASSIGN_OR_RETURN(const TextConfidence confidence, ReadConfidence(*session, prompt, tokens));
//   confidence.mean_log_probability();                                               // -1.8: of a token, in nats
//
// The session then holds the text; what it has of the next one's prompt is not computed again. Engines for this count logits of each row
// (Workload::logits_of_each). Errors are those of Session::AppendEach, and InvalidArgument (found, expected) for a prompt without tokens.
// Threads: those of the session.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

absl::StatusOr<TextConfidence> ReadConfidence(Session& session, absl::Span<const TokenId> prompt, absl::Span<const TokenId> tokens);

}  // namespace tessera
