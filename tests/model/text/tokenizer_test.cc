#include "tessera/model/text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

void ExpectGoldenTokens(const std::string& name) {
  const Tokenizer* tokenizer = RealTokenizer(name);
  if (tokenizer == nullptr) return;
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/" + name + "/tokenize.jsonl");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto golden = nlohmann::json::parse(line);
    const std::string text = golden["text"];
    const bool special = golden["special"];
    const Tokens tokens = tokenizer->Encode(text, {.parse_special = special});
    EXPECT_EQ(tokens, golden["tokens"].get<Tokens>()) << golden["id"] << ": " << text;
    if (golden["roundtrip"]) {
      EXPECT_EQ(Join(*tokenizer, tokens, special), text);
    }
  }
  EXPECT_GE(lines, 88);
}

// Strings of `size` pieces drawn from what tends to go wrong.
std::string RandomText(std::mt19937* random, int size) {
  static const std::string kPieces[] = {
      "a", "Hello", " ", "  ", "\n", "\r\n", "\t", "é", "e\u0301", "中文", "\u2581", "\u00A0", "\U0001F468\u200D\U0001F469", "12345", "'S",
      "'ll", "<|im_end|>", "<bos>", "<0x41>", "\xFF", "\xE2\x82", "\xC3", "\xED\xA0\x80", std::string(1, '\0'), "مرحبا", "[multimodal]",
  };
  std::string text;
  for (int i = 0; i < size; ++i) text += kPieces[(*random)() % std::size(kPieces)];
  return text;
}

double SecondsFor(const Tokenizer& tokenizer, const std::string& text, Tokens* tokens) {
  const double begin = CpuSeconds();
  *tokens = tokenizer.Encode(text);
  return CpuSeconds() - begin;
}

TEST(Tokenizer, HeaderExample) {
  const auto example = [](const GgufFile* file, Tokens* out, std::string* joined) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::FromGguf(*file));
    std::vector<TokenId> tokens = tokenizer->Encode("Hello, world!", {.add_bos = true});
    std::string text;
    for (TokenId token : tokens) text += tokenizer->Piece(token);
    *out = tokens;
    *joined = text;
    return absl::OkStatus();
  };
  auto file = SmallBytePair().Open();
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  Tokens tokens;
  std::string text;
  ASSERT_TRUE(example(file->get(), &tokens, &text).ok());
  EXPECT_EQ(tokens.size(), 12u);  // "ll" is one.
  EXPECT_EQ(text, "Hello, world!");
}

TEST(Tokenizer, EqualsGoldenTokensOfSmolLM2) { ExpectGoldenTokens("smollm2"); }
TEST(Tokenizer, EqualsGoldenTokensOfGemma3) { ExpectGoldenTokens("gemma3"); }

TEST(Tokenizer, KnowsTheRolesOfTheRealModels) {
  const Tokenizer* smollm2 = RealTokenizer("smollm2");
  const Tokenizer* gemma3 = RealTokenizer("gemma3");
  ASSERT_TRUE(smollm2 != nullptr && gemma3 != nullptr);
  EXPECT_EQ(smollm2->vocabulary_size(), 49152);
  EXPECT_FALSE(smollm2->adds_bos());
  EXPECT_EQ(smollm2->Encode("Hello", {.add_bos = true}), (Tokens{19556}));
  EXPECT_TRUE(smollm2->IsEnd(0) && smollm2->IsEnd(2));  // <|endoftext|>, <|im_end|>
  EXPECT_FALSE(smollm2->IsEnd(1));
  EXPECT_EQ(gemma3->vocabulary_size(), 262144);
  EXPECT_TRUE(gemma3->adds_bos());
  EXPECT_EQ(gemma3->Encode("", {.add_bos = true}), (Tokens{2}));
  EXPECT_TRUE(gemma3->IsEnd(1) && gemma3->IsEnd(106));  // <eos>, <end_of_turn>
  EXPECT_FALSE(gemma3->IsEnd(2) || gemma3->adds_space_prefix());
}

TEST(Tokenizer, OpensAQuarterMillionPiecesQuickly) {
  const std::string path = RealModelPath("gemma3");
  ASSERT_FALSE(path.empty()) << RealModelMissing("gemma3");
  auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok());
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = CpuSeconds();
    ASSERT_TRUE(Tokenizer::FromGguf(**file).ok());
    best = std::min(best, CpuSeconds() - begin);
  }
  EXPECT_LT(best, TimeLimit(0.1));
}

TEST(Tokenizer, GivesBackTheBytesOfAnyText) {
  const Tokenizer* gemma3 = RealTokenizer("gemma3");
  ASSERT_NE(gemma3, nullptr);
  const std::unique_ptr<Tokenizer> small = OpenTokenizer(SmallBytePair());
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomText(&random, 1 + i % 20);
    EXPECT_EQ(Join(*small, small->Encode(text)), text);
    if (text.find("\u2581") == std::string::npos) {  // SentencePiece writes a space so: this character comes back as one.
      EXPECT_EQ(Join(*gemma3, gemma3->Encode(text)), text);
    }
    EXPECT_EQ(Join(*small, small->Encode(text, {.parse_special = true}), true), text);
  }
}

TEST(Tokenizer, PlainTextNeverBecomesAControlToken) {
  for (const char* name : {"smollm2", "gemma3"}) {
    const Tokenizer* tokenizer = RealTokenizer(name);
    ASSERT_NE(tokenizer, nullptr);
    int special = 0;
    for (TokenId token = 0; token < tokenizer->vocabulary_size(); ++token) {
      if (!tokenizer->IsSpecial(token)) continue;
      ++special;
      const std::string text = tokenizer->Piece(token, true);
      for (TokenId plain : tokenizer->Encode(text)) ASSERT_FALSE(tokenizer->IsSpecial(plain)) << text;
      EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true}), (Tokens{token}));
    }
    EXPECT_GE(special, 17);
  }
}

TEST(Tokenizer, TakesAMegabyteOfOneLetterInUnderTwoSeconds) {
  const std::string text(1 << 20, 'a');
  for (const char* name : {"smollm2", "gemma3"}) {
    const Tokenizer* tokenizer = RealTokenizer(name);
    ASSERT_NE(tokenizer, nullptr);
    Tokens tokens;
    EXPECT_LT(SecondsFor(*tokenizer, text, &tokens), TimeLimit(2.0)) << name;
    EXPECT_EQ(Join(*tokenizer, tokens).size(), text.size());
  }
}

TEST(Tokenizer, TakesAMegabyteOfUserDefinedTokensInUnderTwoSeconds) {
  const Tokenizer* tokenizer = RealTokenizer("gemma3");
  ASSERT_NE(tokenizer, nullptr);
  const std::string text(1 << 20, '\n');  // Runs of 1 to 31 newlines are tokens.
  Tokens tokens;
  EXPECT_LT(SecondsFor(*tokenizer, text, &tokens), TimeLimit(2.0));
  EXPECT_EQ(tokens.size(), text.size() / 31 + 1);
}

TEST(Tokenizer, MergesInTheOrderOfRanks) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  EXPECT_EQ(tokenizer->Encode("hello hello"), (Tokens{kHello, kSpaceHello}));
  EXPECT_EQ(tokenizer->Encode("helll"), (Tokens{kHell, 'l'}));
  EXPECT_EQ(tokenizer->Encode("elll"), (Tokens{'e', kLl, 'l'}));  // If ranks are equal, the leftmost first.
}

TEST(Tokenizer, KeepsKnownWordsWhereTheModelDoes) {
  GgufMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.merges", GgufMetadata::Strings({"h e"}));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("hello"), (Tokens{kHe, 'l', 'l', 'o'}));
  metadata.Set("tokenizer.ggml.pre", GgufMetadata::String("llama-bpe"));
  const std::unique_ptr<Tokenizer> llama3 = OpenTokenizer(metadata);
  EXPECT_EQ(llama3->Encode("hello"), (Tokens{kHello}));
  EXPECT_TRUE(llama3->adds_bos());
}

TEST(Tokenizer, MatchesUserDefinedTokensAlwaysAndControlTokensOnRequest) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  const std::string text = "<user><|im_end|>";
  EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true}), (Tokens{kUser, kImEnd}));
  const Tokens plain = tokenizer->Encode(text);
  EXPECT_EQ(plain[0], kUser);
  EXPECT_EQ(plain.size(), 1 + 10u);
  EXPECT_EQ(tokenizer->Piece(kImEnd), "");
  EXPECT_EQ(tokenizer->Piece(kImEnd, true), "<|im_end|>");
  EXPECT_EQ(tokenizer->Piece(kUser), "<user>");
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
  GgufMetadata metadata;
  metadata.Set("tokenizer.ggml.model", GgufMetadata::String("llama"));
  metadata.Set("tokenizer.ggml.tokens", GgufMetadata::Strings({"<unk>", "a"}));
  metadata.Set("tokenizer.ggml.token_type", GgufMetadata::Ints({2, 1}));
  metadata.Set("tokenizer.ggml.scores", GgufMetadata::Floats({0, 0}));
  metadata.Set("tokenizer.ggml.add_space_prefix", GgufMetadata::Bool(false));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("aza"), (Tokens{1, kUnk, 1}));
}

TEST(Tokenizer, PutsASpaceBeforeTextAndAfterEachSpecialToken) {
  GgufMetadata metadata = SmallSentencePiece();
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("b[x]b"), (Tokens{kSpace, kB, kMark, kSpace, kB}));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode(""), Tokens{});
  metadata.Set("tokenizer.ggml.add_space_prefix", GgufMetadata::Bool(false));
  EXPECT_EQ(OpenTokenizer(metadata)->Encode("b[x]b"), (Tokens{kB, kMark, kB}));
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
