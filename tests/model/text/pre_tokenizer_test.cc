#include "tessera/model/text/internal/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

Words Cut(absl::string_view rule, absl::string_view text) {
  auto cutter = PreTokenizer::ByName(rule);
  EXPECT_TRUE(cutter.ok()) << cutter.status().ToString();
  std::vector<absl::string_view> words;
  if (cutter.ok()) cutter->Split(text, &words);
  return Words(words.begin(), words.end());
}

TEST(PreTokenizer, HeaderExample) {
  const auto example = [](Words* out) -> absl::Status {
    ASSIGN_OR_RETURN(const PreTokenizer cutter, PreTokenizer::ByName("gpt-2"));
    std::vector<absl::string_view> words;
    cutter.Split("Hello world", &words);
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
  EXPECT_EQ(Cut("llama-bpe", "it'ſ 'ReLL"), (Words{"it", "'ſ", " '", "ReLL"}));  // U+017F is an s where case does not matter.
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

TEST(PreTokenizer, TreatsCharactersOfLaterUnicodeAsUnassigned) {
  EXPECT_EQ(Cut("gpt-2", "a\U00010D4Ab"), (Words{"a", "\U00010D4A", "b"}));  // A letter of Unicode 16.
  EXPECT_EQ(Cut("gpt-2", "a\U00010D41 b"), (Words{"a", "\U00010D41", " b"}));  // A digit of Unicode 16.
  EXPECT_EQ(Cut("gpt-2", "a\U00011F04b"), (Words{"a\U00011F04b"}));            // A letter of Unicode 15.
}

TEST(PreTokenizer, CutsTheWordsOfEachFamily) {
  const struct { absl::string_view rule, text; Words words; } kCases[] = {
      {"tekken", "camelCase XMLHttp/\n12", {"camel", "Case", " XMLHttp", "/\n", "1", "2"}},
      {"gpt-4o", "DON'T it's 1234", {"DON'T", " it's", " ", "123", "4"}},
      {"llama4", "e\u0301a HTML", {"e\u0301a", " HTML"}},
      {"qwen35", "e\u0301a 12", {"e\u0301a", " ", "1", "2"}},
      {"deepseek-v3", "_a 1234\u4f60\u597dab", {"_a", " ", "123", "4", "\u4f60\u597d", "ab"}},
      {"deepseek-llm", "a b\n 12 \u4f60!", {"a", " b", "\n", " ", "12", " ", "\u4f60", "!"}},
      {"deepseek-coder", "x  +1\n", {"x", "  +", "1", "\n"}},
      {"falcon", "a 12345!!", {"a", " ", "123", "45", "!!"}},
      {"bloom", "a, b  (c", {"a", ",", " b", "  (", "c"}},
      {"kimi-k2", "\u4f60a\u597d1234", {"\u4f60", "a", "\u597d", "123", "4"}},
      {"superbpe", "one two 1234567 x", {"one two ", "1", "234", "567", " x"}},
      {"afmoe", "a 1234567", {"a", " ", "1", "234", "567"}},
      {"tiny_aya", "1234567 1234b", {"1", "234", "567", " ", "123", "4", "b"}},
      {"exaone-moe", "ab cd  e1", {"ab cd", " ", " e", "1"}},
      {"jais-2", "a       b", {"a", "    ", "  ", " b"}},
      {"minicpm5", "12345", {"123", "45"}},
      {"laguna", "a;\n b", {"a", ";", "\n", " b"}},
      {"seed-coder", "a;\n b", {"a", ";", "\n", " b"}},
      {"ufakzeka", "it's", {"it", "'s"}},
      {"youtu", "\uac00a\uff01b12", {"\uac00", "a", "\uff01", "b", "1", "2"}},
      {"default", "a+12 1234", {"a", "+", "12", " ", "123", "4"}},
  };
  for (const auto& example : kCases) EXPECT_EQ(Cut(example.rule, example.text), example.words) << example.rule;
}

TEST(PreTokenizer, NamesTheKnownRules) {
  const auto refused = PreTokenizer::ByName("gemma4");
  ASSERT_FALSE(refused.ok());
  const std::string names = WordRuleNames();
  EXPECT_EQ(refused.status().message(), "found \"gemma4\", expected one of " + names);
  const std::vector<std::string> all = absl::StrSplit(names, ", ");
  EXPECT_GT(all.size(), 80u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  for (const std::string& name : all) EXPECT_TRUE(PreTokenizer::ByName(name).ok()) << name;
}

// Runs of one kind of character, or of two in turns: whatever the rule, nothing is lost and the time grows with the length alone.
constexpr const char* kRuns[] = {"a", "A", "\u4f60", "7", "\u0661", " ", "\n", "\r\n", "\t ", "!", "/", "\u0301", "\u0301A", "a A", "'s",
                                 " \u0301", "1a", "\u200b", "!\n ", "\u3000", "\u02b0A"};

void ExpectWhole(const PreTokenizer& cutter, absl::string_view run, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text.append(run.data(), run.size());
  std::vector<absl::string_view> words;
  cutter.Split(text, &words);
  const char* end = text.data();
  for (absl::string_view word : words) {
    ASSERT_TRUE(word.data() == end && !word.empty()) << "at byte " << end - text.data();
    end += word.size();
  }
  ASSERT_EQ(end, text.data() + text.size());
}

TEST(PreTokenizer, EveryRuleCutsRunsOfAnyKindInLinearTime) {
  const std::vector<std::string> names = absl::StrSplit(WordRuleNames(), ", ");
  std::set<const void*> tried;
  const double before = CpuSeconds();
  for (const std::string& name : names) {
    const auto cutter = PreTokenizer::ByName(name);
    if (!tried.insert(cutter->rule().cuts.data()).second) continue;
    for (const char* run : kRuns) {
      SCOPED_TRACE(name + ": " + run);
      ExpectWhole(*cutter, run, kSanitized ? 20'000 : 200'000);
    }
  }
  EXPECT_GT(tried.size(), 25u);
  EXPECT_LT(CpuSeconds() - before, TimeLimit(30));  // A square of any of them would take minutes.
}

TEST(PreTokenizer, CutsRunsOfTenMegabytes) {
  const auto cutter = PreTokenizer::ByName("llama-bpe");
  for (const char* run : kRuns) {
    SCOPED_TRACE(run);
    ExpectWhole(*cutter, run, kSanitized ? 100'000 : 10'000'000);
  }
}

}  // namespace
}  // namespace tessera
