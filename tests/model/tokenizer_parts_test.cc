// The parts that tokenizers are made of: model/tokenizers/.
#include <gtest/gtest.h>

#include <set>

#include "tessera/base/status_macros.h"
#include "tessera/model/tokenizers/byte_alphabet.h"
#include "tessera/model/tokenizers/byte_pair.h"
#include "tessera/model/tokenizers/pair_merger.h"
#include "tessera/model/tokenizers/pre_tokenizer.h"
#include "tessera/model/tokenizers/sentence_piece.h"
#include "tessera/model/tokenizers/special_tokens.h"
#include "tessera/model/tokenizers/utf8.h"
#include "tessera/model/tokenizers/vocabulary.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;
using Words = std::vector<std::string>;

Words Cut(absl::string_view rule, absl::string_view text) {
  auto cutter = PreTokenizer::ByName(rule);
  EXPECT_TRUE(cutter.ok()) << cutter.status().ToString();
  std::vector<absl::string_view> words;
  if (cutter.ok()) (*cutter)->Split(text, &words);
  return Words(words.begin(), words.end());
}

std::unique_ptr<Vocabulary> OpenVocabulary(const GgufMetadata& metadata) {
  auto file = metadata.Open();
  auto vocabulary = Vocabulary::FromGguf(**file);
  EXPECT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  return *std::move(vocabulary);
}

TEST(Utf8, HeaderExample) {
  absl::string_view text = "a\xFFé\xE2\x82";
  Words valid;
  while (!text.empty()) {
    Utf8Sequence sequence = ReadUtf8(text);
    if (sequence.state == Utf8State::kValid) valid.emplace_back(text.substr(0, sequence.size));
    text.remove_prefix(sequence.size);
  }
  EXPECT_EQ(valid, (Words{"a", "é"}));
}

TEST(Utf8, TellsInvalidFromIncomplete) {
  struct { const char* text; size_t size; Utf8State state; } const kCases[] = {
      {"a", 1, Utf8State::kValid},          {"\xC2\x80", 2, Utf8State::kValid},        {"\xF4\x8F\xBF\xBF", 4, Utf8State::kValid},
      {"\xC0\x80", 1, Utf8State::kInvalid}, {"\xE0\x9F\x80", 1, Utf8State::kInvalid},  {"\xED\xA0\x80", 1, Utf8State::kInvalid},
      {"\xF5", 1, Utf8State::kInvalid},     {"\xF4\x90\x80\x80", 1, Utf8State::kInvalid}, {"\xF0\x8F", 1, Utf8State::kInvalid},
      {"\x80", 1, Utf8State::kInvalid},     {"\xE2\x82" "a", 2, Utf8State::kInvalid},  {"\xE2\x82", 2, Utf8State::kIncomplete},
      {"\xF0\x9F\x98", 3, Utf8State::kIncomplete}, {"\xC3", 1, Utf8State::kIncomplete},
  };
  for (const auto& expected : kCases) {
    const Utf8Sequence found = ReadUtf8(expected.text);
    EXPECT_EQ(found.size, expected.size) << expected.text;
    EXPECT_EQ(found.state, expected.state) << expected.text;
  }
}

TEST(ByteAlphabet, HeaderExample) {
  EXPECT_EQ(ByteCharacter(' '), "Ġ");
  EXPECT_EQ(BytesFromAlphabet("Ġhello"), " hello");
}

TEST(ByteAlphabet, GivesEachByteItsOwnCharacter) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string character = ByteCharacter(static_cast<uint8_t>(byte));
    EXPECT_EQ(ReadUtf8(character).size, character.size());
    EXPECT_EQ(BytesFromAlphabet(character), std::string(1, static_cast<char>(byte)));
    characters.insert(character);
  }
  EXPECT_EQ(characters.size(), 256u);
  EXPECT_EQ(BytesFromAlphabet("中 \xFF"), "中 \xFF");
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

TEST(PairMerger, HeaderExample) {
  const auto CostOf = [](const MergeSymbol& left, const MergeSymbol& right) -> std::optional<PairMerge> {
    if (left.size + right.size > 2) return std::nullopt;
    return PairMerge{left.begin == 1 ? 0.0 : 1.0, 7};
  };
  std::vector<MergeSymbol> symbols = {{0, 1}, {1, 1}, {2, 1}};
  MergePairs(symbols, [&](const MergeSymbol& left, const MergeSymbol& right) { return CostOf(left, right); });
  std::vector<uint32_t> sizes;
  for (int32_t i = 0; i >= 0; i = symbols[i].next) sizes.push_back(symbols[i].size);
  EXPECT_EQ(sizes, (std::vector<uint32_t>{1, 2}));  // "bc" was cheaper than "ab".
  EXPECT_EQ(symbols[1].token, 7);
}

TEST(Vocabulary, HeaderExample) {
  auto file = SmallBytePair().Open();
  ASSERT_TRUE(file.ok());
  const auto example = [](const GgufFile& file, std::string* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::FromGguf(file));
    std::optional<TokenId> id = vocabulary->Find("hello");
    if (id.has_value() && vocabulary->IsText(*id)) *out = std::string(vocabulary->text(*id));
    return absl::OkStatus();
  };
  std::string text;
  ASSERT_TRUE(example(**file, &text).ok());
  EXPECT_EQ(text, "hello");
}

TEST(Vocabulary, TreatsEndMarksAsControlTokensWhateverTheFileSays) {
  GgufMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.token_type", GgufMetadata::Ints(std::vector<int32_t>(265, 1)));
  const std::unique_ptr<Vocabulary> vocabulary = OpenVocabulary(metadata);
  EXPECT_EQ(vocabulary->kind(kImEnd), TokenKind::kControl);
  EXPECT_TRUE(vocabulary->IsEnd(kImEnd));
  EXPECT_EQ(vocabulary->kind(kImStart), TokenKind::kNormal);
}

TEST(SpecialTokens, HeaderExample) {
  const std::unique_ptr<Vocabulary> vocabulary = OpenVocabulary(SmallBytePair());
  Tokens tokens;
  std::string plain;
  const auto EncodePlain = [&](absl::string_view text) { plain += std::string(text); };
  SpecialTokens special(*vocabulary);
  for (const TextFragment& fragment : special.Split("Hi<|im_end|>", {.parse_special = true})) {
    if (fragment.token.has_value()) tokens.push_back(*fragment.token); else EncodePlain(fragment.text);
  }
  EXPECT_EQ(tokens, (Tokens{kImEnd}));
  EXPECT_EQ(plain, "Hi");
}

TEST(SpecialTokens, LongestWinsOverTheWholeText) {
  GgufMetadata metadata;
  metadata.Set("tokenizer.ggml.model", GgufMetadata::String("gpt2"));
  metadata.Set("tokenizer.ggml.tokens", GgufMetadata::Strings({"<|a", "|abc", "c", "cc", "ccc"}));
  metadata.Set("tokenizer.ggml.token_type", GgufMetadata::Ints({4, 4, 4, 4, 4}));
  const std::unique_ptr<Vocabulary> vocabulary = OpenVocabulary(metadata);
  const SpecialTokens special(*vocabulary);
  const auto split = [&](absl::string_view text) {
    Tokens tokens;
    for (const TextFragment& fragment : special.Split(text, {})) tokens.push_back(fragment.token.value_or(-1));
    return tokens;
  };
  EXPECT_EQ(split("<|abc"), (Tokens{-1, 1}));
  EXPECT_EQ(split("<|ab"), (Tokens{0, -1}));
  EXPECT_EQ(split("cccccccc"), (Tokens{4, 4, 3}));
  EXPECT_EQ(split("|abcccc"), (Tokens{1, 4}));
  EXPECT_EQ(split("|abccc"), (Tokens{1, 3}));
}

TEST(Segmenter, HeaderExample) {
  const auto example = [](const GgufFile& file, Tokens* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::FromGguf(file));
    ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewBytePairSegmenter(file, *vocabulary));
    std::vector<TokenId> tokens;
    segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
    *out = tokens;
    return absl::OkStatus();
  };
  Tokens tokens;
  ASSERT_TRUE(example(**SmallBytePair().Open(), &tokens).ok());
  EXPECT_EQ(tokens.size(), 4u);
}

TEST(SentencePiece, HeaderExample) {
  const auto example = [](const GgufFile& file, Tokens* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::FromGguf(file));
    ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewSentencePieceSegmenter(file, *vocabulary));
    std::vector<TokenId> tokens;
    segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
    *out = tokens;
    return absl::OkStatus();
  };
  Tokens tokens;
  ASSERT_TRUE(example(**SmallSentencePiece().Open(), &tokens).ok());
  EXPECT_EQ(tokens.size(), 6u);  // The space, and five bytes.
}

}  // namespace
}  // namespace tessera
