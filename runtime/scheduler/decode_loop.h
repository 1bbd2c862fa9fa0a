// Writes text: one token after another from a session, until an end token, a stop string, a limit, or the caller says stop.
//
//   GenerateOptions options = {.max_tokens = 128, .stop = {"\n\n"}, .on_text = [](absl::string_view text) { Print(text); }};
//   ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, options));
//
// The prompt is in the session already. The same session, sampler and stream give the same tokens on every machine, and a speculator
// changes none of them: with one, a pass may give several. Threads: as Session. The cancel flags of session and engine end it with
// kCancelled, which is no error.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

// The session afterwards holds the prompt and every token of the result but the last chosen, which has not been computed on. Its logits
// may be unknown after a cancelled or failed pass over a draft. Tokens that a stop text hid are among them: chat/shown_text.h says which.
// FailedPrecondition if the session is empty, InvalidArgument for options that cannot be (as Stream::Create); otherwise the first error of
// a pass, or session.h's where memory ends.
absl::StatusOr<Generation> Generate(Session& session, const Sampler& sampler, const GenerateOptions& options);

}  // namespace tessera
