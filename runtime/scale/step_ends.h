// Finds the ends of a text's steps among the text's tokens.
//
//   StepEnds(tokenizer, tokens, "\n\n");            // {17, 40}: two steps, the last tokens of which are these
//
// A step ends with the token in which a delimiter ends, or with the text. A part with nothing but blanks is no step: blank lines belong to
// the step before. With an empty delimiter the whole text is one step.
//
// Threads: thread-safe (a pure function).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

// Returns the index of each step's last token, ascending. A text of blanks alone is one step, so the result is never empty. REQUIRES: at
// least one token.
std::vector<int> StepEnds(const Tokenizer& tokenizer, absl::Span<const TokenId> tokens, absl::string_view delimiter);

}  // namespace tessera
