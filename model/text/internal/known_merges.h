// Which rule cuts the words of a vocabulary whose file does not say: the merges tell from which training they come.
//
//   absl::string_view rule = RuleOfMerges(merges);     // "llama-bpe"; empty: these merges are not known
//
// Files of the time before the key tokenizer.ggml.pre lack it. Fine-tunes add tokens, but keep the merges. Thread-safe (pure functions).
#pragma once

#include "absl/strings/string_view.h"
#include "tessera/base/length_prefixed_strings.h"

namespace tessera {

absl::string_view RuleOfMerges(const LengthPrefixedStrings& merges);

}  // namespace tessera
