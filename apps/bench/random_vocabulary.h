// A vocabulary of made-up words for models that mean nothing: byte-level byte pair encoding, as Llama 3 has it.
//
//   const RandomVocabulary vocabulary = MakeRandomVocabulary(/*size=*/32000);
//   vocabulary.PutInto(writer);                       // the tokenizer.ggml keys
//
// Two control tokens (begin and end of text), the 256 bytes, then words, each an earlier one and a letter more, with the merge
// that makes it. Every text stands for one id. Thread-safe (pure functions).
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

// The same for the same size. REQUIRES: size >= RandomVocabulary::kSmallest.
RandomVocabulary MakeRandomVocabulary(int size);

}  // namespace tessera
