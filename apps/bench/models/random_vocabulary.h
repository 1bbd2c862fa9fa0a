// A vocabulary of made-up words for random models: byte-level byte pair encoding, as in Llama 3.
//
//   const RandomVocabulary vocabulary = MakeRandomVocabulary(/*size=*/32000);
//   vocabulary.PutInto(writer);                       // the tokenizer.ggml keys
//
// The tokens are two control tokens (begin and end of text), the 256 bytes, then words. Each word is an earlier word and one letter more,
// with the merge that makes the word. No two tokens have the same text. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/model/files/gguf_writer.h"

namespace tessera {

struct RandomVocabulary {
  static constexpr int kSmallest = 258 + 26;  // Control tokens, bytes, and " a" to " z".

  void PutInto(GgufWriter& writer) const;

  std::vector<std::string> tokens;
  std::vector<int32_t> types;          // As in GGUF: 1 normal, 3 control.
  std::vector<std::string> merges;
};

// Makes the same vocabulary for the same size. REQUIRES: size >= RandomVocabulary::kSmallest.
RandomVocabulary MakeRandomVocabulary(int size);

}  // namespace tessera
