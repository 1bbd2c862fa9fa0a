// Which vocabulary a tokenizer has, so that a history of one model is never read as that of another.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<HistoryStore> store, HistoryStore::Open(folder, "mail", VocabularyOf(*tokenizer), {}));
//
// Reads every token's text: some milliseconds for a quarter of a million. Thread-safe (a pure function).
#pragma once

#include "tessera/model/text/tokenizer.h"
#include "tessera/spec/drafters/history/history_format.h"

namespace tessera {

// Equal where all pieces are, special ones included.
VocabularyId VocabularyOf(const Tokenizer& tokenizer);

}  // namespace tessera
