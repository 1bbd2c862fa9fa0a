// A SentencePiece vocabulary with a space prefix, as large as a tiny model's, whose tokens 'a' to 'z' are two letters.
//
//   std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SpacePrefixVocabulary());
//   SpacePrefixId("c");                                  // the token of a piece; token 'a' is "aA"
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <glog/logging.h>

#include "tessera/base/token.h"
#include "tessera/tests/fakes/tokenizer_metadata.h"

namespace tessera {

inline constexpr size_t kSpacePrefixTokens = 265;   // As SmallBytePair has.

inline const std::vector<std::string>& SpacePrefixPieces() {
  static const std::vector<std::string> pieces = [] {
    std::vector<std::string> all = {"<unk>", "<s>", "</s>", "\u2581", "\u2581a", "\u2581b", "ab", "\n", "[x]"};
    for (char letter = 'a'; letter <= 'z'; ++letter) all.emplace_back(1, letter);
    for (char letter = 'A'; letter <= 'Z'; ++letter) all.emplace_back(1, letter);
    const auto add_byte = [&all](int byte) {
      char text[8];
      std::snprintf(text, sizeof(text), "<0x%02X>", byte);
      all.push_back(text);
    };
    int byte = 0x20;
    while (all.size() < size_t{'a'}) add_byte(byte++);
    for (char letter = 'a'; letter <= 'z'; ++letter) all.push_back({letter, static_cast<char>(letter - 'a' + 'A')});
    while (all.size() < kSpacePrefixTokens) add_byte(byte++);
    return all;
  }();
  return pieces;
}

inline TokenId SpacePrefixId(const std::string& piece) {
  const auto found = std::find(SpacePrefixPieces().begin(), SpacePrefixPieces().end(), piece);
  CHECK(found != SpacePrefixPieces().end()) << piece;
  return static_cast<TokenId>(found - SpacePrefixPieces().begin());
}

inline TokenizerMetadata SpacePrefixVocabulary() {
  std::vector<int32_t> types;
  for (const std::string& piece : SpacePrefixPieces()) {
    types.push_back(piece == "<unk>" ? 2 : piece == "<s>" || piece == "</s>" ? 3 : piece == "[x]" ? 4 : piece.starts_with("<0x") ? 6 : 1);
  }
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("llama"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(SpacePrefixPieces()));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats(std::vector<float>(types.size(), -1.0f)));
  metadata.Set("tokenizer.ggml.unknown_token_id", TokenizerMetadata::Uint(0));
  metadata.Set("tokenizer.ggml.bos_token_id", TokenizerMetadata::Uint(1));
  metadata.Set("tokenizer.ggml.eos_token_id", TokenizerMetadata::Uint(2));
  metadata.Set("tokenizer.ggml.add_bos_token", TokenizerMetadata::Bool(false));
  return metadata;
}

}  // namespace tessera
