#include "tessera/runtime/vocabulary_of.h"

#include <string>

#include "tessera/base/random.h"

namespace tessera {

VocabularyId VocabularyOf(const Tokenizer& tokenizer) {
  VocabularyId id = {.size = tokenizer.vocabulary_size()};
  for (TokenId token = 0; token < id.size; ++token) {
    const std::string piece = tokenizer.Piece(token, /*render_special=*/true);
    id.hash = MixBits(id.hash ^ piece.size());
    for (const char byte : piece) id.hash = MixBits(id.hash ^ static_cast<uint8_t>(byte));
  }
  return id;
}

}  // namespace tessera
