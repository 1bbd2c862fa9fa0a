// Where the steps of a text end, in its tokens.
//
//   StepEnds(tokenizer, tokens, "\n\n");            // {17, 40}: two steps, the last tokens of which are these
//
// A step ends with the token in which its delimiter ends, or with the text. What holds nothing but blanks is no step: blank lines belong to
// the step before them. An empty delimiter: all of it is one step. Thread-safe (a pure function).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

// Ascending. A text of blanks alone is one step, so there is at least one. REQUIRES: at least one token.
std::vector<int> StepEnds(const Tokenizer& tokenizer, absl::Span<const TokenId> tokens, absl::string_view delimiter);

}  // namespace tessera
