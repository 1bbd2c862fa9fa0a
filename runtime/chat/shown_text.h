// Finds the part of a text that its reader saw, so that the text goes on from there.
//
//   const ShownText shown = ShownTextOf(result, engine->tokenizer(), /*starts_text=*/false);
//   session->Truncate(std::min(session->length(), prompt + shown.tokens));                      // the rest of the session was hidden
//   next = engine->tokenizer().Encode(shown.rest, {.continues = true});                         // shown of the token that was cut
//
// A stop text is hidden, and so are the tokens that it took: a reader and the next turn know nothing of it. The rule: each token whose text
// was shown as a whole stays as the model chose it; where the stop text begins within a token, the part of that token before it is encoded
// anew, as text. Where a character has several tokens, all of it counts as one of them. A token that stops a text by itself, an end token
// among them, goes. Else all tokens stay, also one that ends within a character. Thread-safe (no state).
#pragma once

#include <string>

#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/session/generation.h"

namespace tessera {

struct ShownText {
  int tokens = 0;          // So many of the result's, the first ones, were shown as a whole, or are not to be shown.
  std::string rest = {};   // Text that was shown behind these tokens. Most often empty.
};

// starts_text: as the result was made with (GenerateOptions::starts_text).
ShownText ShownTextOf(const Generation& result, const Tokenizer& tokenizer, bool starts_text);

}  // namespace tessera
