#include <gtest/gtest.h>

#include <cmath>

#include "tessera/model/text/tokenizer.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

// Expects that the metadata is refused, with a message that holds all of `parts`.
void ExpectRefused(const TokenizerMetadata& metadata, const std::vector<std::string>& parts) {
  const auto tokenizer = Tokenizer::Create(metadata.Facts());
  ASSERT_FALSE(tokenizer.ok()) << "taken, expected an error that says " << parts[0];
  const std::string message(tokenizer.status().message());
  EXPECT_NE(message.find(TokenizerMetadata::kPath), std::string::npos) << message;
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << "no \"" << part << "\" in: " << message;
}

void ExpectRefused(TokenizerMetadata metadata, const std::string& key, TokenizerMetadata::Value value,
                   const std::vector<std::string>& parts) {
  metadata.Set(key, std::move(value));
  ExpectRefused(metadata, parts);
}

TEST(TokenizerBadInput, NamesAKindThatIsNotKnown) {
  ExpectRefused(SmallBytePair(), "tokenizer.ggml.model", TokenizerMetadata::String("bert"),
                {"tokenizer.ggml.model", "bert", "gpt2 or llama"});
  ExpectRefused(SmallBytePair(), "tokenizer.ggml.pre", TokenizerMetadata::String("poro"),
                {"tokenizer.ggml.pre", "poro", "gpt-2", "llama-bpe", "qwen2", "smollm"});
}

TEST(TokenizerBadInput, WordsAreNeverCutByAGuess) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Remove("tokenizer.ggml.pre");
  ExpectRefused(metadata, {"tokenizer.ggml.pre: found none", "6 merges", "llama-bpe", "Convert the model again"});
}

TEST(TokenizerBadInput, NamesTheKeyThatIsAbsent) {
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
    TokenizerMetadata metadata = SmallBytePair();
    metadata.Remove(key);
    ExpectRefused(metadata, {key});
  }
  TokenizerMetadata metadata = SmallSentencePiece();
  metadata.Remove("tokenizer.ggml.scores");
  ExpectRefused(metadata, {"tokenizer.ggml.scores"});
}

TEST(TokenizerBadInput, RefusesListsOfDifferentLengths) {
  ExpectRefused(SmallBytePair(), "tokenizer.ggml.token_type", TokenizerMetadata::Ints({1, 1}), {"token_type", "found 2", "expected 265"});
  ExpectRefused(SmallSentencePiece(), "tokenizer.ggml.scores", TokenizerMetadata::Floats({0}), {"scores", "found 1 ", "expected 271"});
  ExpectRefused(SmallBytePair(), "tokenizer.ggml.tokens", TokenizerMetadata::Strings({}), {"tokenizer.ggml.tokens", "found 0"});
}

TEST(TokenizerBadInput, RefusesIdsOutsideTheVocabulary) {
  for (const char* key : {"bos_token_id", "eos_token_id", "unknown_token_id", "eot_token_id", "eom_token_id"}) {
    const std::string full = std::string("tokenizer.ggml.") + key;
    ExpectRefused(SmallBytePair(), full, TokenizerMetadata::Uint(265), {full, "found 265", "below the 265"});
    ExpectRefused(SmallBytePair(), full, TokenizerMetadata::Uint(0xFFFFFFFF), {full, "found 4294967295"});
  }
}

TEST(TokenizerBadInput, RefusesMergesThatAreNoMerges) {
  for (const char* merge : {"h x1", "zz e", "he he", "hello", "", " ", "h ", " e", "h  e"}) {
    ExpectRefused(SmallBytePair(), "tokenizer.ggml.merges", TokenizerMetadata::Strings({"h e", merge}),
                  {"tokenizer.ggml.merges\" value[1] at byte ", std::string("\"") + merge + "\"", "expected two texts"});
  }
}

TEST(TokenizerBadInput, NamesTheFirstOfManyMergesThatIsNone) {
  std::vector<std::string> merges(100, "h e");
  merges[70] = "zz e";
  merges[71] = "h zz";
  ExpectRefused(SmallBytePair(), "tokenizer.ggml.merges", TokenizerMetadata::Strings(merges),
                {"tokenizer.ggml.merges\" value[70] at byte ", "\"zz e\""});
}

TEST(TokenizerBadInput, RefusesKindsAndScoresThatMeanNothing) {
  for (int32_t type : {-1, 7, 1000000}) {
    std::vector<int32_t> types(265, 1);
    types[4] = type;
    ExpectRefused(SmallBytePair(), "tokenizer.ggml.token_type", TokenizerMetadata::Ints(types),
                  {"token_type\" value[4] at byte ", "found " + std::to_string(type), "0 to 6"});
  }
  std::vector<float> scores(271, 0.0f);
  scores[7] = std::nanf("");
  ExpectRefused(SmallSentencePiece(), "tokenizer.ggml.scores", TokenizerMetadata::Floats(scores), {"scores\" value[7] at byte ", "NaN"});
  std::vector<int32_t> bytes(271, 1);
  bytes[260] = 6;  // "a"
  ExpectRefused(SmallSentencePiece(), "tokenizer.ggml.token_type", TokenizerMetadata::Ints(bytes),
                {"tokens\" value[260] at byte ", "\"a\"", "<0x00>"});
}

TEST(TokenizerBadInput, RefusesSpecialTextsThatWouldMakeEveryEncodingSlow) {
  TokenizerMetadata metadata = SmallSentencePiece();
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings({"<unk>", std::string(1025, 'x')}));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats({0, 0}));
  ExpectRefused(metadata, "tokenizer.ggml.token_type", TokenizerMetadata::Ints({2, 4}),
                {"tokens\" value[1] at byte ", "found 1025 bytes", "1024"});
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints({2, 1}));
  EXPECT_NE(OpenTokenizer(metadata), nullptr);  // A plain text may be as long as it likes.
}

TEST(TokenizerBadInput, RefusesAVocabularyThatCannotSayEveryByte) {
  TokenizerMetadata metadata = SmallSentencePiece();  // No byte tokens, no unknown token.
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(std::vector<int32_t>(271, 1)));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(std::vector<std::string>(271, "a")));
  ExpectRefused(metadata, {"<0x00>", "unknown token"});
}

TEST(TokenizerBadInput, RefusesToAddABosThatDoesNotExist) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.add_bos_token", TokenizerMetadata::Bool(true));
  metadata.Remove("tokenizer.ggml.bos_token_id");
  ExpectRefused(metadata, {"bos_token_id", "found none", "add_bos_token"});
}

TEST(TokenizerBadInput, MergesToTheLastOfEqualTexts) {
  TokenizerMetadata metadata = SmallBytePair();
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(ByteCharacter(static_cast<uint8_t>(byte)));
  tokens.insert(tokens.end(), {"ll", "he", "he", "x", "x", "x", "x", "x", "x"});  // The first "he" comes next after "ll".
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(tokens));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(std::vector<int32_t>(tokens.size(), 1)));
  metadata.Set("tokenizer.ggml.merges", TokenizerMetadata::Strings({"l l", "h e"}));
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->Encode("he"), std::vector<TokenId>{258});
}

TEST(TokenizerBadInput, TakesEmptyAndRepeatedTexts) {
  TokenizerMetadata metadata = SmallSentencePiece();
  std::vector<std::string> tokens = {"<unk>", "", "a", "a", "", "b"};
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(tokens));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints({2, 3, 1, 1, 4, 1}));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats({0, 0, 0, 0, 0, 0}));
  metadata.Set("tokenizer.ggml.add_space_prefix", TokenizerMetadata::Bool(false));
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->Encode("ab", {.parse_special = true}), (std::vector<TokenId>{3, 5}));  // If texts are equal, the last.
  EXPECT_EQ(tokenizer->Piece(2), "a");
  EXPECT_EQ(tokenizer->Piece(4), "");
}

TEST(TokenizerBadInput, TextsInStrangePlacesDoNoHarm) {  // Long, not UTF-8, half a marker: nothing is assumed of a text.
  TokenizerMetadata metadata = SmallSentencePiece();
  metadata.Set("tokenizer.ggml.tokens",
               TokenizerMetadata::Strings({"<unk>", std::string(1024, 'x'), "\xFF", "\xE2\x96", std::string(1, '\0')}));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints({2, 4, 3, 1, 5}));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats({0, 1e38f, -INFINITY, INFINITY, 0}));
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  ASSERT_NE(tokenizer, nullptr);
  const std::string text = std::string(2000, 'x') + "\xFF" + std::string(1, '\0');
  const std::vector<TokenId> tokens = tokenizer->Encode(text, {.parse_special = true});
  EXPECT_EQ(tokens.front(), 1);
  EXPECT_EQ(tokens.back(), 4);
}

}  // namespace
}  // namespace tessera
