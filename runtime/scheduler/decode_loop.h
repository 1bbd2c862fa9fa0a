// Generates one token after another from a session, until an end token, a stop string, a limit or a cancel flag ends the sequence.
//
//   GenerateOptions options = {.max_tokens = 128, .stop = {"\n\n"}, .on_text = [](absl::string_view text) { Print(text); }};
//   ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, options));
//
// The session holds the prompt already. The same session, sampler and sampler stream give the same tokens on every machine. A speculator
// changes no token: with a speculator, one pass may give several tokens.
//
// Threads: as Session. The cancel flags of session and engine end the call with FinishReason::kCancelled, which is no error.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

// Generates tokens after the session's prompt until a rule of `options` ends the sequence. Afterwards the session holds the prompt and all
// tokens of the result except the last: no pass has computed the last token. The held tokens include tokens hidden by a stop string
// (chat/shown_text.h says which). After a cancelled or failed pass over a draft, the session's logits may be unknown.
//
// Errors: FailedPrecondition if the session is empty. InvalidArgument for invalid options (as Stream::Create). Otherwise the first error of
// a pass. If memory ends, the error that session.h names.
absl::StatusOr<Generation> Generate(Session& session, const Sampler& sampler, const GenerateOptions& options);

}  // namespace tessera
