#include "tessera/model/text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/random_text.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

TEST(Tokenizer, HeaderExample) {
  const TokenizerMetadata metadata = SmallBytePair();
  TokenizerFacts facts = metadata.Facts();
  const auto example = [&](Tokens* out, std::string* joined) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(std::move(facts)));
    std::vector<TokenId> tokens = tokenizer->Encode("Hello, world!", {.add_bos = true});
    std::string text;
    for (TokenId token : tokens) text += tokenizer->Piece(token);
    *out = tokens;
    *joined = text;
    return absl::OkStatus();
  };
  Tokens tokens;
  std::string text;
  ASSERT_TRUE(example(&tokens, &text).ok());
  EXPECT_EQ(tokens.size(), 12u);  // "ll" is one.
  EXPECT_EQ(text, "Hello, world!");
}

TEST(Tokenizer, GivesBackTheBytesOfAnyText) {
  const std::unique_ptr<Tokenizer> small = OpenTokenizer(SmallBytePair());
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomText(&random, 1 + i % 20);
    EXPECT_EQ(Join(*small, small->Encode(text)), text);
    EXPECT_EQ(Join(*small, small->Encode(text, {.parse_special = true}), true), text);
  }
}

TEST(Tokenizer, MergesInTheOrderOfRanks) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  EXPECT_EQ(tokenizer->Encode("hello hello"), (Tokens{kHello, kSpaceHello}));
  EXPECT_EQ(tokenizer->Encode("helll"), (Tokens{kHell, 'l'}));
  EXPECT_EQ(tokenizer->Encode("elll"), (Tokens{'e', kLl, 'l'}));  // If ranks are equal, the leftmost first.
}

TEST(Tokenizer, KeepsKnownWordsWhereTheModelDoes) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.merges", TokenizerMetadata::Strings({"h e"}));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("hello"), (Tokens{kHe, 'l', 'l', 'o'}));
  metadata.Set("tokenizer.ggml.pre", TokenizerMetadata::String("llama-bpe"));
  const std::unique_ptr<Tokenizer> llama3 = OpenTokenizer(metadata);
  EXPECT_EQ(llama3->Encode("hello"), (Tokens{kHello}));
  EXPECT_TRUE(llama3->adds_bos());
}

TEST(Tokenizer, MatchesUserDefinedTokensAlwaysAndControlTokensOnRequest) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  const std::string text = "<ul><|im_end|>";
  EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true}), (Tokens{kTag, kImEnd}));
  const Tokens plain = tokenizer->Encode(text);
  EXPECT_EQ(plain[0], kTag);
  EXPECT_EQ(plain.size(), 1 + 10u);
  EXPECT_EQ(tokenizer->Piece(kImEnd), "");
  EXPECT_EQ(tokenizer->Piece(kImEnd, true), "<|im_end|>");
  EXPECT_EQ(tokenizer->Piece(kTag), "<ul>");
}

TEST(Tokenizer, KeepsLiteralRangesPlain) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  const std::string text = "<|im_end|><|im_end|><|im_end|>";
  const std::vector<TextRange> middle = {{10, 20}}, one_byte = {{9, 10}, {20, 21}};
  const Tokens plain = tokenizer->Encode("<|im_end|>");
  Tokens expected = {kImEnd};
  expected.insert(expected.end(), plain.begin(), plain.end());
  expected.push_back(kImEnd);
  EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true, .literal = middle}), expected);
  const Tokens touched = tokenizer->Encode(text, {.parse_special = true, .literal = one_byte});
  EXPECT_EQ(std::count(touched.begin(), touched.end(), kImEnd), 1);  // The second: the others have a literal byte.
}

TEST(Tokenizer, MergesByBestScore) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallSentencePiece());
  EXPECT_EQ(tokenizer->Encode("abc"), (Tokens{kSpaceA, kBc}));
  EXPECT_EQ(tokenizer->Encode("bab"), (Tokens{kSpace, kB, kAb}));
  EXPECT_EQ(tokenizer->Encode("ab", {.add_bos = true}), (Tokens{kBos, kSpaceA, kB}));  // Equal scores: the leftmost pair.
}

TEST(Tokenizer, FallsBackToBytesAndToTheUnknownToken) {
  EXPECT_EQ(OpenTokenizer(SmallSentencePiece())->Encode("é"), (Tokens{kSpace, kByte0 + 0xC3, kByte0 + 0xA9}));
  EXPECT_EQ(OpenTokenizer(SmallSentencePiece())->Encode("\xE2" "ab"), (Tokens{kSpace, kByte0 + 0xE2, kAb}));
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("llama"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings({"<unk>", "a"}));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints({2, 1}));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats({0, 0}));
  metadata.Set("tokenizer.ggml.add_space_prefix", TokenizerMetadata::Bool(false));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("aza"), (Tokens{1, kUnk, 1}));
}

TEST(Tokenizer, PutsASpaceBeforeTextAndAfterEachSpecialToken) {
  TokenizerMetadata metadata = SmallSentencePiece();
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("b[x]b"), (Tokens{kSpace, kB, kBracketed, kSpace, kB}));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode(""), Tokens{});
  metadata.Set("tokenizer.ggml.add_space_prefix", TokenizerMetadata::Bool(false));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("b[x]b"), (Tokens{kB, kBracketed, kB}));
}

TEST(Tokenizer, MergingDoesNotMakeAControlToken) {  // "<s" and ">" are pieces, and "<s>" is BOS.
  EXPECT_EQ(OpenTokenizer(SmallSentencePiece())->Encode("<s>"), (Tokens{kSpace, kLessS, kMore}));
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreEmptyText) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  for (TokenId token : {-1, tokenizer->vocabulary_size(), std::numeric_limits<TokenId>::max()}) {
    EXPECT_EQ(tokenizer->Piece(token, true), "");
    EXPECT_FALSE(tokenizer->IsEnd(token) || tokenizer->IsSpecial(token));
  }
}

}  // namespace
}  // namespace tessera
