// Whether a draft speaks the target's tokens: what it drafts is compared with the target's by their numbers.
//
//   RETURN_IF_ERROR(CheckSameVocabulary(target.model(), draft.model()));   // "... token 300: found "us", expected "he" ..."
//   ASSIGN_OR_RETURN(auto expander, ModelExpander::Create(draft, {.vocabulary = target.config().vocabulary}));
//
// All tokens that both have are compared, control tokens, too. One of them may have more at the end: sizes of one family differ in how far
// they are padded (one has 151,936 tokens, and 152,064 in its larger models). Such tokens are not drafted, and a text with one that the
// draft lacks is an error of its own (ModelExpander). More than kMostMoreTokens are taken to be another vocabulary.
// Reads every token's text: some milliseconds for a quarter of a million. Thread-safe (pure functions).
#pragma once

#include "absl/status/status.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/engine/loaded_model.h"

namespace tessera {

// What the family above needs, and other engines allow.
inline constexpr int kMostMoreTokens = 128;

// InvalidArgument that names the first token that differs, with both pieces; or both numbers of tokens; or both BOS or EOS tokens.
absl::Status CheckSameVocabulary(const Tokenizer& target, const Tokenizer& draft);
// The same, with both files. REQUIRES: AwaitTokenizer succeeded for both, as it has for an engine's model.
absl::Status CheckSameVocabulary(const LoadedModel& target, const LoadedModel& draft);

}  // namespace tessera
