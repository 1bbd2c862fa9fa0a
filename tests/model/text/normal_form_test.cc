#include "tessera/model/text/internal/normal_form.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/model/text/internal/byte_tokens.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

std::string Normal(absl::string_view text) {
  std::string composed;
  return std::string(NormalFormC(text, composed));
}

TEST(NormalFormC, HeaderExample) {
  std::string composed;
  absl::string_view text = NormalFormC("e\u0301", composed);     // "\u00e9"
  EXPECT_EQ(text, "\u00e9");
}

TEST(NormalFormC, ComposesOrdersAndReplacesAsUnicodeSays) {
  const struct { const char* text; const char* normal; } kCases[] = {
      {"", ""},
      {"abc", "abc"},
      {"e\u0301e", "\u00e9e"},
      {"\u0301a", "\u0301a"},
      {"a\u0323\u0301", "\u1ea1\u0301"},
      {"a\u0301\u0323", "\u1ea1\u0301"},           // Marks are ordered, then the nearest is composed.
      {"\u1100\u1161\u11a8", "\uac01"},             // Hangul.
      {"\u212b\u2126", "\u00c5\u03a9"},             // Replaced by one other.
      {"\u0958", "\u0915\u093c"},                    // Never composed.
      {"\u09c7\u09be", "\u09cb"},                    // Two that are no marks of a class compose.
      {"\U0001d15e", "\U0001d157\U0001d165"},
      {"x\u00e9\u4f60", "x\u00e9\u4f60"},
  };
  for (const auto& expected : kCases) EXPECT_EQ(Normal(expected.text), expected.normal) << expected.text;
}

TEST(NormalFormC, LeavesInvalidBytesAndLaterUnicodeUnchanged) {
  EXPECT_EQ(Normal("e\xff\u0301e\u0301\xcc"), "e\xff\u0301\u00e9\xcc");
  EXPECT_EQ(Normal("\U00011382\U000113c9e\u0301"), "\U00011382\U000113c9\u00e9");  // Unicode 16 composes the first two.
  EXPECT_EQ(Normal(std::string("\0e\u0301\0", 5)), std::string("\0\u00e9\0", 4));
}

TEST(NormalFormC, GivesAViewOfTextThatIsNormalAlready) {
  const std::string text = "na\u00efve \u4f60\u597d \xff";
  std::string composed;
  EXPECT_EQ(NormalFormC(text, composed).data(), text.data());
}

TEST(NormalFormC, ManyMarksTakeNoSquareOfTheirNumber) {
  const size_t count = kSanitized ? 20'000 : 1'000'000;
  std::string text = "a", low, high;
  for (size_t i = 0; i < count; ++i) {
    text += "\u0301\u0323";
    low += "\u0323";
    high += "\u0301";
  }
  EXPECT_EQ(Normal(text), "\u1ea1" + low.substr(2) + high);
}

TEST(ByteTokens, HeaderExample) {
  TokenizerFacts facts;
  EXPECT_EQ(ByteOf("<0x41>"), 0x41);
  TypeByteTokens(facts);      // they are bytes now, also where the file calls them normal
  EXPECT_EQ(ByteOf("<0xfF>"), 0xff);
  for (const char* text : {"", "<0x4>", "<0x4g>", "<0X41>", "<0x411>"}) EXPECT_EQ(ByteOf(text), -1) << text;
}

TEST(ByteTokens, AreBytesWhateverTypeTheFileGivesThem) {
  const Tokens wanted = {kSpace, kByte0 + 0xC3, kByte0 + 0xA9, kByte0 + '\n'};
  const Tokens spelled = OpenTokenizer(SmallSentencePiece())->Encode("<0x0A>");
  for (int type : {0, 1, 3, 4, 5, -1}) {
    TokenizerMetadata metadata = SmallSentencePiece();
    std::vector<int32_t> types = {2, 3, 3};
    types.resize(3 + 256, type);
    types.resize(271, 1);
    if (type < 0) metadata.Remove("tokenizer.ggml.token_type");
    else metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    EXPECT_EQ(tokenizer->Encode("\u00e9\n"), wanted) << type;
    EXPECT_EQ(tokenizer->Encode("<0x0A>"), spelled) << type;  // What a user writes never becomes the byte.
    EXPECT_EQ(tokenizer->Piece(kByte0 + '\n'), "\n") << type;
  }
}

TEST(Tokenizer, NormalizesWhereTheModelWasTrainedSo) {
  TokenizerMetadata metadata = SmallBytePair();
  const std::string apart = "e\u0301", one = "\u00e9";
  const std::unique_ptr<Tokenizer> plain = OpenTokenizer(metadata);
  EXPECT_NE(plain->Encode(apart), plain->Encode(one));
  for (const char* name : {"qwen2", "deepseek-r1-qwen", "command-r", "mpt", "olmo", "stablelm2", "hunyuan"}) {
    metadata.Set("tokenizer.ggml.pre", TokenizerMetadata::String(name));
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    EXPECT_EQ(Join(*tokenizer, tokenizer->Encode(apart)), one) << name;
    // Special tokens and literal ranges are found in the text as it was written.
    const std::string text = apart + "<|im_end|>" + apart + "<|im_end|>\u0301" + apart;
    const std::vector<TextRange> literal = {{apart.size() * 2 + 10, apart.size() * 2 + 20}};
    const Tokens tokens = tokenizer->Encode(text, {.parse_special = true, .literal = literal});
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), kImEnd), 1) << name;
    EXPECT_EQ(Join(*tokenizer, tokens, true), one + "<|im_end|>" + one + "<|im_end|>\u0301" + one) << name;
  }
}

}  // namespace
}  // namespace tessera
