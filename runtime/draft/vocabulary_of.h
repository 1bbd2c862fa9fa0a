// Identifies a tokenizer's vocabulary, so that a history of one model is never read as a history of another model.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<HistoryStore> store, HistoryStore::Open(folder, "mail", VocabularyOf(*tokenizer), {}));
//
// The call reads every token's text: some milliseconds for a quarter of a million tokens.
//
// Threads: thread-safe (a pure function).
#pragma once

#include "tessera/model/text/tokenizer.h"
#include "tessera/spec/drafters/history/history_format.h"

namespace tessera {

// Returns an identity that is equal where all pieces are equal, including special tokens.
VocabularyId VocabularyOf(const Tokenizer& tokenizer);

}  // namespace tessera
