// Encodes text that continues existing tokens: tokens of a session, a prompt or a sample.
//
//   tokens = EncodeBehind(*tokenizer, held, "c", {.parse_special = true});   // [ab] then [c], and not [ab] then [ c]
//   tokens = EncodeAnswer(*tokenizer, prompt, "Yes");                        // as a model writes it behind the prompt of a dialogue
//
// A vocabulary with a space prefix (Tokenizer::adds_space_prefix) puts the space at a text's start and behind special tokens, as in the
// model's training. Text that continues other text has no such space. Existing tokens stay: tokens at the border are not merged.
// Thread-safe (no state).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

// Returns the tokens of `text` alone. `before`: all tokens before `text`, or the last of these tokens. If `before` is empty or ends with a
// special token, `text` is a start. Overrides options.continues.
std::vector<TokenId> EncodeBehind(const Tokenizer& tokenizer, absl::Span<const TokenId> before, absl::string_view text,
                                  EncodeOptions options = {});

// Returns the tokens of an answer to a prompt that a chat template wrote. Behind white space the answer continues the text. Behind other
// text ("[/INST]") the answer has the space prefix, with which models begin an answer there. TextStreamOptions::starts_text removes this
// prefix.
std::vector<TokenId> EncodeAnswer(const Tokenizer& tokenizer, absl::Span<const TokenId> prompt, absl::string_view answer);

}  // namespace tessera
