// Checks whether a draft model has the target's vocabulary. Drafted tokens are compared with the target's tokens by number.
//
//   RETURN_IF_ERROR(CheckSameVocabulary(target.model(), draft.model()));   // "... token 300: found "us", expected "he" ..."
//   ASSIGN_OR_RETURN(auto expander, ModelExpander::Create(draft, {.vocabulary = target.config().vocabulary}));
//
// All tokens that both models have are compared, including control tokens. One model may have more tokens at the end: models of one family
// are padded to different sizes (one has 151,936 tokens, the larger models have 152,064). Such tokens are not drafted. A sequence with a
// token that the draft lacks is a separate error (ModelExpander). A difference of more than kMostMoreTokens tokens counts as another
// vocabulary.
// The check reads every token's text: some milliseconds for a quarter of a million tokens.
//
// Threads: thread-safe (pure functions).
#pragma once

#include "absl/status/status.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/engine/loaded_model.h"

namespace tessera {

// Largest allowed difference in tokens: enough for the family above, and as much as other engines allow.
inline constexpr int kMostMoreTokens = 128;

// Returns InvalidArgument if the vocabularies differ. The error names the first token that differs, with both pieces; or both numbers of
// tokens; or both BOS or EOS tokens.
absl::Status CheckSameVocabulary(const Tokenizer& target, const Tokenizer& draft);
// Checks two loaded models in the same way; the error names both files. REQUIRES: AwaitTokenizer succeeded for both, as for an engine's
// model.
absl::Status CheckSameVocabulary(const LoadedModel& target, const LoadedModel& draft);

}  // namespace tessera
