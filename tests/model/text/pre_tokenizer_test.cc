#include "tessera/model/text/internal/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

Words Cut(absl::string_view rule, absl::string_view text) {
  auto cutter = PreTokenizer::ByName(rule);
  EXPECT_TRUE(cutter.ok()) << cutter.status().ToString();
  std::vector<absl::string_view> words;
  if (cutter.ok()) (*cutter)->Split(text, &words);
  return Words(words.begin(), words.end());
}

TEST(PreTokenizer, HeaderExample) {
  const auto example = [](Words* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<PreTokenizer> cutter, PreTokenizer::ByName("gpt-2"));
    std::vector<absl::string_view> words;
    cutter->Split("Hello world", &words);
    *out = Words(words.begin(), words.end());
    return absl::OkStatus();
  };
  Words words;
  ASSERT_TRUE(example(&words).ok());
  EXPECT_EQ(words, (Words{"Hello", " world"}));
}

TEST(PreTokenizer, LeavesTheLastSpaceOfARunToTheNextWord) {
  EXPECT_EQ(Cut("gpt-2", "a   b  "), (Words{"a", "  ", " b", "  "}));
  EXPECT_EQ(Cut("gpt-2", "a\n\nb"), (Words{"a", "\n", "\n", "b"}));
  EXPECT_EQ(Cut("gpt-2", "a\u00A0\u00A0!"), (Words{"a", "\u00A0", "\u00A0", "!"}));
}

TEST(PreTokenizer, CutsContractionsAsEachRuleSays) {
  EXPECT_EQ(Cut("gpt-2", "it's IT'S"), (Words{"it", "'s", " IT", "'", "S"}));
  EXPECT_EQ(Cut("llama-bpe", "it's IT'S 'ſ"), (Words{"it", "'s", " IT", "'S", " '", "ſ"}));
  EXPECT_EQ(Cut("qwen2", "YOU'VE"), (Words{"YOU", "'VE"}));
}

TEST(PreTokenizer, CutsDigitsAsEachRuleSays) {
  EXPECT_EQ(Cut("gpt-2", "x 12345"), (Words{"x", " 12345"}));
  EXPECT_EQ(Cut("llama3", "x 12345"), (Words{"x", " ", "123", "45"}));
  EXPECT_EQ(Cut("qwen2", "x 123"), (Words{"x", " ", "1", "2", "3"}));
  EXPECT_EQ(Cut("smollm", "x  12½"), (Words{"x", "  ", "1", "2", "½"}));
}

TEST(PreTokenizer, KeepsLineEndsWithPunctuationWhereTheRuleDoes) {
  EXPECT_EQ(Cut("llama-bpe", "a;\r\n\tb \n  c"), (Words{"a", ";\r\n", "\tb", " \n", " ", " c"}));
  EXPECT_EQ(Cut("gpt-2", "a;\r\n\tb"), (Words{"a", ";", "\r\n", "\t", "b"}));
}

TEST(PreTokenizer, TakesWhiteSpaceByItsUnicodeProperty) {
  EXPECT_EQ(Cut("gpt-2", "\u180E\u180E!"), (Words{"\u180E\u180E!"}));  // A format character, no space.
  EXPECT_EQ(Cut("gpt-2", "\u0085\u3000!"), (Words{"\u0085", "\u3000", "!"}));
}

TEST(PreTokenizer, GivesInvalidBytesWordsOfTheirOwn) {
  EXPECT_EQ(Cut("gpt-2", "a\xFF\xE2\x82z\xC3"), (Words{"a", "\xFF", "\xE2\x82", "z", "\xC3"}));
}

TEST(PreTokenizer, NamesTheRulesItKnows) {
  const auto refused = PreTokenizer::ByName("bloom");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "found \"bloom\", expected one of default, gpt-2, llama-bpe, llama-v3, llama3, qwen2, smollm");
}

}  // namespace
}  // namespace tessera
