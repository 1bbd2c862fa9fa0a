// A tiny model whose SentencePiece vocabulary has a space prefix, and whose tokens are two letters: a stop text may begin within a token.
//
//   SpacePrefixModelBuilder().WriteTo(path);             // it writes "gGkKaA...": a token is a small letter and the same large one
//   SpacePrefixId("c");                                  // the token of a piece
//   OpenTokenizer(SpacePrefixVocabulary());
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <glog/logging.h>

#include "tessera/base/token.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

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
    while (all.size() < kTinyVocabulary) add_byte(byte++);
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

inline GgufBuilder SpacePrefixModelBuilder() {
  GgufBuilder builder = TinyModelBuilder({.writes_letters = true});
  const TokenizerMetadata before = SmallBytePair();
  for (const auto& [key, value] : before.values()) builder.Remove(key);
  AddTo(builder, SpacePrefixVocabulary());
  return builder;
}

}  // namespace tessera
