// Finds the part of a text that the reader saw, so that a later text continues from that part.
//
//   const ShownText shown = ShownTextOf(result, engine->tokenizer(), /*starts_text=*/false);
//   session->Truncate(std::min(session->length(), prompt + shown.tokens));                      // the rest of the session was hidden
//   next = engine->tokenizer().Encode(shown.rest, {.continues = true});                         // the shown part of a cut token
//
// A stop text is hidden, and so are the tokens of the stop text: neither the reader nor the next turn sees the hidden part. The rule:
// - A token whose text was shown whole stays as the model chose the token.
// - Where the stop text begins within a token, the token's text before the stop text is encoded anew.
// - Several tokens of one character count as one token.
// - A token that alone stops a text is dropped, an end token included.
// - Otherwise all tokens stay, even a last token that ends within a character.
//
// Threads: thread-safe (no state).
#pragma once

#include <string>

#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/session/generation.h"

namespace tessera {

// The shown part of a result.
struct ShownText {
  int tokens = 0;          // The first tokens of the result that were shown whole or are never shown.
  std::string rest = {};   // Text shown after these tokens. Most often empty.
};

// Returns the shown part of `result`. starts_text: the value that the result was generated with (GenerateOptions::starts_text).
ShownText ShownTextOf(const Generation& result, const Tokenizer& tokenizer, bool starts_text);

}  // namespace tessera
