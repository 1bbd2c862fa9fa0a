// Finds the rule that cuts words if a vocabulary's file names no rule: the merges identify the training.
//
//   absl::string_view rule = RuleOfMerges(merges);     // "llama-bpe"; empty: these merges are not known
//
// Files older than the key tokenizer.ggml.pre lack the key. Fine-tunes add tokens, but keep the merges. Thread-safe (pure functions).
#pragma once

#include "absl/strings/string_view.h"
#include "tessera/base/length_prefixed_strings.h"

namespace tessera {

absl::string_view RuleOfMerges(const LengthPrefixedStrings& merges);

}  // namespace tessera
