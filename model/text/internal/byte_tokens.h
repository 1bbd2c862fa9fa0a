// The tokens of SentencePiece vocabularies that represent one byte: "<0x00>" to "<0xFF>".
//
//   EXPECT_EQ(ByteOf("<0x41>"), 0x41);
//   TypeByteTokens(facts);      // they are bytes now, also where the file calls them normal
//
// Thread-safe (pure functions).
#pragma once

#include "absl/strings/string_view.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

// Returns the byte; -1: `text` is the text of no byte.
int ByteOf(absl::string_view text);

// Types byte tokens as bytes, since some converters give byte tokens another type. If a byte has no token of this type, all tokens with the
// byte's text get the type. Otherwise a text that spells the byte out would become the byte, and the byte itself would become the unknown
// token. Changes nothing else, and nothing in wrong facts.
void TypeByteTokens(TokenizerFacts& facts);

}  // namespace tessera
