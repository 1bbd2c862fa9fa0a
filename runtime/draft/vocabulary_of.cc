#include "tessera/runtime/draft/vocabulary_of.h"

#include <string>

#include "tessera/base/sha256.h"

namespace tessera {

VocabularyId VocabularyOf(const Tokenizer& tokenizer) {
  VocabularyId id = {.size = tokenizer.vocabulary_size()};
  Sha256 hash;
  for (TokenId token = 0; token < id.size; ++token) {
    const std::string piece = tokenizer.Piece(token, /*render_special=*/true);
    hash.AddSized(piece);
  }
  id.sum = hash.Take();
  return id;
}

}  // namespace tessera
