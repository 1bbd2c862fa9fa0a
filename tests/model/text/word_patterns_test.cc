// What rules that cut words are made of: the table of Unicode, patterns, and ways to cut that no pattern says.
#include "tessera/model/text/internal/word_patterns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/model/text/internal/cut_words.h"
#include "tessera/model/text/internal/known_merges.h"
#include "tessera/model/text/internal/model_patterns.h"
#include "tessera/model/text/internal/unicode_traits.h"
#include "tessera/model/text/internal/word_rules.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

Words Cut(CutWords* cut, absl::string_view text) {
  std::vector<absl::string_view> words;
  cut(text, &words);
  return Words(words.begin(), words.end());
}

TEST(UnicodeTraits, HeaderExample) {
  EXPECT_TRUE(TraitsOf(U'\u00e9') & kLetter);
  EXPECT_TRUE(TraitsOf(0x3042) & kOtherLetter && !(TraitsOf(0x3042) & kHan));
}

TEST(UnicodeTraits, KnowsTheFirstAndLastCodePointsAndTheBordersOfBlocks) {
  const struct { uint32_t code, traits; } kCases[] = {
      {0, 1u << 25}, {' ', 1u << 22 | kWhiteSpace}, {'9', kDecimal}, {'_', kConnector}, {0xff, kLower}, {0x100, kUpper}, {0x1c5, kTitle},
      {0x300, 1u << 5}, {0x4e00, kOtherLetter | kHan}, {0x9fff, kOtherLetter | kHan}, {0xa000, kOtherLetter}, {0x2e80, 1u << 21 | kHan},
      {0x3007, kLetterNumber | kHan}, {0xd800, 1u << 27}, {0xe000, 1u << 28}, {0x1f600, 1u << 21}, {0x20000, kOtherLetter | kHan},
      {0x323af, kOtherLetter | kHan}, {0x323b0, kUnassigned}, {0x10ffff, kUnassigned},
  };
  for (const auto& expected : kCases) EXPECT_EQ(TraitsOf(expected.code), expected.traits) << std::hex << expected.code;
  EXPECT_EQ(TraitsOf(0x11f04), kOtherLetter);  // New in Unicode 15.
  EXPECT_EQ(TraitsOf(0x2ebf0), kUnassigned);   // Unicode 15.1 has a letter there.
}

TEST(WordPatterns, HeaderExample) {
  using Words = OneOf<OptionalThenRun<Blank, In<kLetter>>, OptionalThenRun<Blank, In<kNumber>>, Blanks>;  //  ?\p{L}+| ?\p{N}+|...
  EXPECT_EQ(Words::End(PlainText("ab 12"), 2), 5u);
}

// A greedy regular expression gives back what it took too much of: here what both sets have.
TEST(WordPatterns, AFirstCharacterThatIsAlsoOneOfTheRunIsGivenBack) {
  using Marks = OptionalThenRun<In<kMark>, In<kLetter | kMark>>;
  EXPECT_EQ(Marks::End(PlainText("\u0301"), 0), 2u);
  EXPECT_EQ(Marks::End(PlainText("\u0301a!"), 0), 3u);
  EXPECT_EQ(Marks::End(PlainText("!"), 0), 0u);
}

TEST(WordPatterns, WhiteSpaceLeavesItsLastCharacterToAWord) {
  EXPECT_EQ(Blanks::End(PlainText("\u3000\u3000a"), 0), 3u);
  EXPECT_EQ(Blanks::End(PlainText("\u3000a"), 0), 3u);
  EXPECT_EQ(Blanks::End(PlainText("\u3000\u3000"), 0), 6u);
  EXPECT_EQ(BlankLines::End(PlainText(" \n \r\n  a"), 0), 5u);
  EXPECT_EQ(BlankLines::End(PlainText("  a"), 0), 0u);
}

TEST(ModelPatterns, HeaderExample) {
  using Words = CasedWord<Blank, 0>;
  EXPECT_EQ(Words::End(PlainText(" camelCase"), 0), 6u);    // " camel"
}

TEST(ModelPatterns, AWordOfCapitalsEndsBehindTheLastLetterWithoutCase) {
  using Cased = CasedWord<Blank, 0>;
  EXPECT_EQ(Cased::End(PlainText("ABC def"), 0), 3u);
  EXPECT_EQ(Cased::End(PlainText("A\u4f60BC"), 0), 4u);  // "A\u4f60": the capitals after it begin another word.
  EXPECT_EQ(Cased::End(PlainText("ABc"), 0), 3u);
}

TEST(ModelPatterns, BlanksAreHalvedDownToTwo) {
  const auto size = [](size_t blanks, const char* then) { return HalvedBlanks::End(PlainText(std::string(blanks, ' ') + then), 0); };
  const struct { size_t blanks, before_a_word, at_the_end; } kCases[] = {
      {1, 1, 1}, {2, 1, 2}, {3, 2, 2}, {4, 2, 4}, {5, 4, 4}, {512, 256, 512}, {513, 512, 512}, {5000, 512, 512}};
  for (const auto& expected : kCases) {
    EXPECT_EQ(size(expected.blanks, "a"), expected.before_a_word) << expected.blanks;
    EXPECT_EQ(size(expected.blanks, ""), expected.at_the_end) << expected.blanks;
  }
}

TEST(CutWords, HeaderExample) {
  std::vector<absl::string_view> words;
  CutByPattern<RunOf<In<kNumber>>>("a12b", &words);     // "a", "12", "b"
  EXPECT_EQ(Words(words.begin(), words.end()), (Words{"a", "12", "b"}));
}

TEST(CutWords, CountsGroupsOfThreeFromTheEnd) {
  EXPECT_EQ(Cut(CutNumbersFromTheEnd, "a1234\u00bd67"), (Words{"a", "1", "234", "\u00bd67"}));
  EXPECT_EQ(Cut(CutLoneDigitsFromTheEnd, "1234 1234a"), (Words{"1", "234", " 1234a"}));
  EXPECT_EQ(Cut(CutBeforeThreeDigits, "ab1234cd"), (Words{"ab1", "234cd"}));
  EXPECT_EQ(Cut(CutWhiteEnd, "a \u3000"), (Words{"a", " \u3000"}));
  EXPECT_EQ(Cut(CutWhiteEnd, "  "), (Words{"  "}));
}

TEST(WordRules, HeaderExample) {
  const WordRule* rule = FindWordRule("smollm");       // null: there is no rule of that name
  std::vector<absl::string_view> pieces = {"a12"}, words;
  for (CutWords* cut : rule->cuts) {
    words.clear();
    for (absl::string_view piece : pieces) cut(piece, &words);
    pieces = words;
  }
  EXPECT_EQ(Words(words.begin(), words.end()), (Words{"a", "1", "2"}));
  EXPECT_EQ(FindWordRule("no such rule"), nullptr);
}

TEST(KnownMerges, HeaderExample) {
  std::string bytes;
  AppendLengthPrefixed("h e", bytes);
  const LengthPrefixedStrings merges(bytes, 1);
  absl::string_view rule = RuleOfMerges(merges);     // "llama-bpe"; empty: these merges are not known
  EXPECT_EQ(rule, "");
}

}  // namespace
}  // namespace tessera
