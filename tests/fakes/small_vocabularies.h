// Tokenizers for tests: two small vocabularies whose every id is known.
//
//   std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
//   EXPECT_EQ(tokenizer->Encode("hello"), std::vector<TokenId>{kHello});
//
// SmallBytePair and SmallSentencePiece return metadata, which tests may change before opening.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tessera/model/text/byte_alphabet.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/tests/fakes/tokenizer_metadata.h"

namespace tessera {

// Bytes as tokens 0..255, a few merges and special tokens: a byte-level vocabulary that can encode every text.
inline TokenizerMetadata SmallBytePair() {
  std::vector<std::string> tokens;
  std::vector<int32_t> types(256, 1);
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(ByteCharacter(static_cast<uint8_t>(byte)));
  for (const char* text : {"he", "ll", "hell", "hello", "Ġhello", "<|im_start|>", "<|im_end|>", "<ul>", "us"}) {
    tokens.push_back(text);
    const std::string start(text, 2);
    types.push_back(start == "<|" ? 3 : start == "<u" ? 4 : 1);
  }
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("gpt2"));
  metadata.Set("tokenizer.ggml.pre", TokenizerMetadata::String("gpt-2"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(tokens));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  metadata.Set("tokenizer.ggml.merges", TokenizerMetadata::Strings({"h e", "l l", "he ll", "hell o", "Ġ hello", "u s"}));
  metadata.Set("tokenizer.ggml.bos_token_id", TokenizerMetadata::Uint(261));
  metadata.Set("tokenizer.ggml.eos_token_id", TokenizerMetadata::Uint(262));
  return metadata;
}
enum : TokenId { kHe = 256, kLl, kHell, kHello, kSpaceHello, kImStart, kImEnd, kTag, kUs };

// <unk>, <s>, </s>, the 256 bytes, then pieces with scores.
inline TokenizerMetadata SmallSentencePiece() {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", byte);
    tokens.push_back(text);
    types.push_back(6);
  }
  std::vector<float> scores(tokens.size(), 0.0f);
  for (const char* text : {"\u2581", "a", "b", "c", "ab", "bc", "\u2581a", "[x]", "<", "s", ">", "<s"}) {
    tokens.push_back(text);
    types.push_back(std::string(text) == "[x]" ? 4 : 1);
    scores.push_back(std::string(text) == "bc" ? -1.0f : -2.0f);
  }
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("llama"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(tokens));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats(scores));
  return metadata;
}
enum : TokenId { kUnk = 0, kBos = 1, kByte0 = 3, kSpace = 259, kA, kB, kC, kAb, kBc, kSpaceA, kBracketed, kLess, kS, kMore, kLessS };

// Returns null, with a failed test, if the metadata is refused.
inline std::unique_ptr<Tokenizer> OpenTokenizer(const TokenizerMetadata& metadata) {
  auto tokenizer = Tokenizer::Create(metadata.Facts());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

// Joins the pieces.
inline std::string Join(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens, bool render_special = false) {
  std::string text;
  for (TokenId token : tokens) text += tokenizer.Piece(token, render_special);
  return text;
}

}  // namespace tessera
