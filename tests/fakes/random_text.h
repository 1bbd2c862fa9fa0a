// Makes texts that tend to break tokenizers: white space, marks, characters of many bytes, bytes that are not UTF-8.
//
//   std::mt19937 random(1);
//   const std::string text = RandomText(&random, 20);
#pragma once

#include <iterator>
#include <random>
#include <string>

namespace tessera {

// Joins `size` pieces.
inline std::string RandomText(std::mt19937* random, int size) {
  static const std::string kPieces[] = {
      "a", "Hello", " ", "  ", "\n", "\r\n", "\t", "é", "e\u0301", "中文", "\u2581", "\u00A0", "\U0001F468\u200D\U0001F469", "12345", "'S",
      "'ll", "<|im_end|>", "<bos>", "<0x41>", "\xFF", "\xE2\x82", "\xC3", "\xED\xA0\x80", std::string(1, '\0'), "مرحبا", "[multimodal]",
  };
  std::string text;
  for (int i = 0; i < size; ++i) text += kPieces[(*random)() % std::size(kPieces)];
  return text;
}

}  // namespace tessera
