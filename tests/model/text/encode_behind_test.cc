#include "tessera/model/text/encode_behind.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/model/text/chat_template.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/space_prefix_vocabulary.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

Tokens Joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(EncodeBehind, HeaderExample) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallSentencePiece());
  const Tokens held = tokenizer->Encode("ab"), prompt = {kBos, kA};
  EXPECT_EQ(held, (Tokens{kSpaceA, kB}));
  Tokens tokens = EncodeBehind(*tokenizer, held, "c", {.parse_special = true});
  EXPECT_EQ(tokens, (Tokens{kC}));
  tokens = EncodeAnswer(*tokenizer, prompt, "a");
  EXPECT_EQ(tokens, (Tokens{kSpaceA}));
}

// A text that comes in two pieces has the tokens of the whole, but for merges at the border.
TEST(EncodeBehind, ASplitTextHasTheSpacePrefixOfTheWhole) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallSentencePiece());
  const EncodeOptions special = {.parse_special = true};
  for (const std::string before : {"", "a", "a ", "a<s>", "<s>", "a[x]", "a</s> ", "\n", "\xC3"}) {
    for (const std::string text : {"c", " c", "", "<s>c", "[x]b", "\xA9", "\n"}) {
      const Tokens first = tokenizer->Encode(before, special);
      EXPECT_EQ(Joined(first, EncodeBehind(*tokenizer, first, text, special)), tokenizer->Encode(before + text, special))
          << before << "|" << text;
    }
  }
}

// The vocabulary lacks most bytes, so the byte 1 is the unknown token, which stands within the text.
TEST(EncodeBehind, TextBehindAnUnknownPartContinues) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SpacePrefixVocabulary());
  const Tokens first = tokenizer->Encode("ab\x01"), whole = tokenizer->Encode("ab\x01" "c");
  EXPECT_EQ(first.back(), SpacePrefixId("<unk>"));
  EXPECT_EQ(Joined(first, EncodeBehind(*tokenizer, first, "c")), whole);
}

TEST(EncodeBehind, AVocabularyWithoutASpacePrefixEncodesEverywhereAlike) {
  TokenizerMetadata without = SmallSentencePiece();
  without.Set("tokenizer.ggml.add_space_prefix", TokenizerMetadata::Bool(false));
  for (const TokenizerMetadata& metadata : {without, SmallBytePair()}) {
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    for (const std::string before : {"", "a", "a\n"}) {
      const Tokens held = tokenizer->Encode(before);
      for (const std::string text : {"a", " a", "hello"}) {
        EXPECT_EQ(EncodeBehind(*tokenizer, held, text), tokenizer->Encode(text));
        EXPECT_EQ(EncodeAnswer(*tokenizer, held, text), tokenizer->Encode(text));
      }
    }
  }
}

TEST(EncodeAnswer, BehindWhiteSpaceAnAnswerContinuesAndElsewhereHasThePrefix) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SpacePrefixVocabulary());
  const auto of = [&](const std::string& prompt) {
    return EncodeAnswer(*tokenizer, tokenizer->Encode(prompt, {.parse_special = true}), "a");
  };
  const Tokens begins = {SpacePrefixId("\u2581a")}, continues = {SpacePrefixId("a")};
  EXPECT_EQ(of("assistant\n"), continues);
  EXPECT_EQ(of("assistant "), continues);
  EXPECT_EQ(of("INST"), begins);
  EXPECT_EQ(of("b</s>"), begins);
  EXPECT_EQ(EncodeAnswer(*tokenizer, {}, "a"), begins);
}

// What a template writes is one text with what users wrote: the prefix stands at its beginning and behind special tokens alone.
TEST(EncodeChat, PutsNoSpaceBetweenTheTemplatesTextAndAMessage) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SpacePrefixVocabulary());
  const auto id = [](const std::string& piece) { return SpacePrefixId(piece); };
  const std::vector<ChatPiece> begun = {{"<s>", true}, {"c", true}, {"b", false}, {"c", true}, {"</s>", true}, {"b", true}, {"c", false}};
  EXPECT_EQ(EncodeChat(*tokenizer, begun), (Tokens{1, id("\u2581"), id("c"), id("b"), id("c"), 2, id("\u2581b"), id("c")}));
}

}  // namespace
}  // namespace tessera
