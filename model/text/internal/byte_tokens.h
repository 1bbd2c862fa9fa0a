// The tokens of SentencePiece vocabularies that stand for one byte: "<0x00>" to "<0xFF>".
//
//   EXPECT_EQ(ByteOf("<0x41>"), 0x41);
//   TypeByteTokens(facts);      // they are bytes now, also where the file calls them normal
//
// Thread-safe (pure functions).
#pragma once

#include "absl/strings/string_view.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

// -1: it is the text of no byte.
int ByteOf(absl::string_view text);

// Some converters give these tokens another type. Where none is typed as the byte, those with its text are: else a text that spells it out
// would become the byte, and the byte itself the unknown token. Changes nothing else, and nothing in facts that are wrong.
void TypeByteTokens(TokenizerFacts& facts);

}  // namespace tessera
