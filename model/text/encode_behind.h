// Encodes text that goes on behind tokens that are there: a session's, a prompt's, a sample's.
//
//   tokens = EncodeBehind(*tokenizer, held, "c", {.parse_special = true});   // [ab] then [c], and not [ab] then [ c]
//   tokens = EncodeAnswer(*tokenizer, prompt, "Yes");                        // as a model writes it behind the prompt of a dialogue
//
// A vocabulary with a space prefix (Tokenizer::adds_space_prefix) puts the space before a text's beginning, and behind special tokens, as
// the model was trained on. Text that continues other text has no such space. Tokens at the border are not merged: tokens that are there
// stay. Thread-safe (no state).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

// Returns the tokens of `text` alone. `before`: all that stands before it, or its end; nothing, or a last token that is special, makes the
// text a beginning. Overrides options.continues.
std::vector<TokenId> EncodeBehind(const Tokenizer& tokenizer, absl::Span<const TokenId> before, absl::string_view text,
                                  EncodeOptions options = {});

// Returns the tokens of an answer to a prompt that a chat template wrote. Behind white space it continues; behind other text ("[/INST]") it
// has the prefix, with which models begin an answer there, and which TextStreamOptions::starts_text takes away.
std::vector<TokenId> EncodeAnswer(const Tokenizer& tokenizer, absl::Span<const TokenId> prompt, absl::string_view answer);

}  // namespace tessera
