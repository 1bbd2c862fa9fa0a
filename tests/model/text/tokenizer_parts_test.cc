// The parts that tokenizers are made of: model/text/internal/.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/internal/byte_pair.h"
#include "tessera/model/text/internal/facts.h"
#include "tessera/model/text/internal/merge_table.h"
#include "tessera/model/text/internal/pair_merger.h"
#include "tessera/model/text/internal/sentence_piece.h"
#include "tessera/model/text/internal/special_tokens.h"
#include "tessera/model/text/internal/utf8.h"
#include "tessera/model/text/internal/vocabulary.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;
using Words = std::vector<std::string>;

std::unique_ptr<Vocabulary> OpenVocabulary(const TokenizerMetadata& metadata) {
  auto vocabulary = Vocabulary::Create(metadata.Facts());
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

TEST(Facts, HeaderExample) {
  const auto example = [](const TokenizerFacts& facts) -> absl::Status {
    ASSIGN_OR_RETURN(const absl::string_view model, Needed(facts.model));
    if (model != "gpt2") return WrongFact(facts.model.place, "found another, expected gpt2");
    ASSIGN_OR_RETURN(const bool asked, ValueOr(facts.add_bos, false));
    EXPECT_FALSE(asked);
    return absl::OkStatus();
  };
  const TokenizerMetadata pieces = SmallSentencePiece(), bytes = SmallBytePair();
  EXPECT_EQ(example(bytes.Facts()), absl::OkStatus());
  EXPECT_EQ(example(pieces.Facts()), absl::InvalidArgumentError("metadata.gguf: metadata \"tokenizer.ggml.model\" value at byte 1000: "
                                                                "found another, expected gpt2"));
}

TEST(Facts, MessagesSayAsMuchOfThePlaceAsIsKnown) {
  TokenizerFacts facts;
  std::string texts;
  for (const char* text : {"a", "bcd"}) AppendLengthPrefixed(text, texts);
  facts.tokens.value = LengthPrefixedStrings(texts, 2);
  const std::string key = "metadata \"tokenizer.ggml.tokens\"";
  EXPECT_EQ(WrongFact(facts.tokens.place, "x").message(), key + ": x");
  EXPECT_EQ(WrongElement(facts.tokens, 1, "x").message(), key + " value[1]: x");
  EXPECT_EQ(NoSuchFact(facts.tokens.place).message(), key + ": found no such key");
  EXPECT_EQ(MissingInFact(facts.tokens.place, "x").message(), "tokenizer.ggml.tokens: x");
  facts.tokens.place.file = "m.gguf";
  facts.tokens.place.offset = facts.scores.place.offset = 100;
  EXPECT_EQ(WrongFact(facts.tokens.place, "x").message(), "m.gguf: " + key + " value at byte 100: x");
  EXPECT_EQ(WrongElement(facts.tokens, 1, "x").message(), "m.gguf: " + key + " value[1] at byte 109: x");
  EXPECT_EQ(WrongElement(facts.scores, 3, "x").message(), "metadata \"tokenizer.ggml.scores\" value[3] at byte 112: x");
  EXPECT_EQ(MissingInFact(facts.tokens.place, "x").message(), "m.gguf: tokenizer.ggml.tokens: x");
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
  const TokenizerMetadata metadata = SmallBytePair();
  const auto example = [](const TokenizerFacts& facts, std::string* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::Create(facts));
    std::optional<TokenId> id = vocabulary->Find("hello");
    if (id.has_value() && vocabulary->IsText(*id)) *out = std::string(vocabulary->text(*id));
    return absl::OkStatus();
  };
  std::string text;
  ASSERT_TRUE(example(metadata.Facts(), &text).ok());
  EXPECT_EQ(text, "hello");
}

TEST(Vocabulary, TreatsEndMarksAsControlTokensWhateverTheFileSays) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(std::vector<int32_t>(265, 1)));
  EXPECT_EQ(OpenVocabulary(metadata)->kind(kImStart), TokenKind::kControl) << "it is BOS";
  metadata.Remove("tokenizer.ggml.bos_token_id");
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
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("gpt2"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings({"<|a", "|abc", "c", "cc", "ccc"}));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints({4, 4, 4, 4, 4}));
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

TEST(Vocabulary, FindsTheLastOfEqualTexts) {
  std::mt19937 random(3);
  const auto draw = [&] {  // Short and long, some again and again.
    return std::string(random() % 40, 'a') + std::string(random() % 3, 'b');
  };
  Words texts;
  for (int i = 0; i < 300; ++i) texts.push_back(draw());
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("gpt2"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(texts));
  const std::unique_ptr<Vocabulary> vocabulary = OpenVocabulary(metadata);
  Words wanted = {"c", "", std::string(100, 'a')};
  for (int i = 0; i < 200; ++i) wanted.push_back(draw());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto last = std::find(texts.rbegin(), texts.rend(), wanted[i]);
    const TokenId expected = last == texts.rend() || wanted[i].empty() ? -1 : static_cast<TokenId>(texts.rend() - last) - 1;
    EXPECT_EQ(vocabulary->Find(wanted[i]).value_or(-1), expected) << wanted[i];
  }
  for (TokenId id = 0; id < vocabulary->size(); ++id) EXPECT_EQ(vocabulary->text(id), texts[id]);
}

TEST(MergeTable, HeaderExample) {
  const std::unique_ptr<Vocabulary> small = OpenVocabulary(SmallBytePair());
  const Vocabulary& vocabulary = *small;
  const std::vector<MergeTable::Merge> merges = {{3, 1}, {2, 1}};
  const auto Use = [](uint32_t rank) { EXPECT_EQ(rank, 1u); };
  MergeTable table(vocabulary.size(), merges);
  const TokenId joined = 2;
  const uint32_t left_bytes = 1;
  if (const std::optional<uint32_t> rank = table.RankOf(joined, left_bytes)) Use(*rank);
  EXPECT_EQ(MergeTable().RankOf(0, 1), std::nullopt);
}

// Few tokens, so that many merges make the same one, and many are given twice.
TEST(MergeTable, KnowsTheFirstPlaceOfEachMerge) {
  std::mt19937 random(5);
  for (const uint32_t tokens : {1u, 3u, 50u}) {
    std::vector<MergeTable::Merge> merges(400);
    std::map<std::pair<TokenId, uint32_t>, uint32_t> first;
    for (uint32_t rank = 0; rank < merges.size(); ++rank) {
      merges[rank] = {static_cast<TokenId>(random() % (tokens + 1)) - 1, static_cast<uint32_t>(random() % 12)};
      if (merges[rank].joined >= 0) first.try_emplace({merges[rank].joined, merges[rank].left_bytes}, rank);
    }
    const MergeTable table(static_cast<int>(tokens), merges);
    for (TokenId joined = 0; joined < static_cast<TokenId>(tokens); ++joined) {
      for (uint32_t left_bytes = 0; left_bytes < 14; ++left_bytes) {
        const auto expected = first.find({joined, left_bytes});
        const std::optional<uint32_t> found = table.RankOf(joined, left_bytes);
        EXPECT_EQ(found.has_value(), expected != first.end()) << joined << " " << left_bytes;
        EXPECT_EQ(found.value_or(0), expected == first.end() ? 0 : expected->second);
      }
    }
  }
}

struct SpecialText {
  std::string text;
  int32_t type;  // 3: control, 4: user-defined.
};

std::unique_ptr<Vocabulary> OpenSpecialTexts(const std::vector<SpecialText>& special) {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  for (const SpecialText& entry : special) {
    texts.push_back(entry.text);
    types.push_back(entry.type);
  }
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("gpt2"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(texts));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  return OpenVocabulary(metadata);
}

// What Split promises, in the simplest way, however slow: every token in turn, the longest first, takes every place that is still free. -1
// for each byte of plain text, the id for each byte of a token's.
Tokens SplitPlainly(const std::vector<SpecialText>& special, const std::string& text, const EncodeOptions& options) {
  std::vector<TokenId> by_size;
  for (TokenId id = 0; id < static_cast<TokenId>(special.size()); ++id) {
    const bool again = std::any_of(special.begin() + id + 1, special.end(), [&](auto& later) { return later.text == special[id].text; });
    if (!again && !special[id].text.empty()) by_size.push_back(id);  // If texts are equal, the last.
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](TokenId a, TokenId b) { return special[a].text.size() > special[b].text.size(); });
  Tokens taken(text.size(), -1);
  for (TokenId id : by_size) {
    const size_t size = special[id].text.size();
    for (size_t begin = 0; begin + size <= text.size(); ++begin) {
      const bool literal = std::any_of(options.literal.begin(), options.literal.end(),
                                       [&](const TextRange& range) { return range.begin < begin + size && begin < range.end; });
      const bool allowed = special[id].type == 4 || (options.parse_special && !literal);
      const bool free = std::all_of(taken.begin() + begin, taken.begin() + begin + size, [](TokenId token) { return token < 0; });
      if (allowed && free && text.compare(begin, size, special[id].text) == 0) std::fill_n(taken.begin() + begin, size, id);
    }
  }
  return taken;
}

TEST(SpecialTokens, SplitsAsThePlainRuleDoes) {
  std::mt19937 random(7);
  const auto draw = [&](size_t least, size_t most) { return least + random() % (most - least + 1); };
  const auto letters = [&](size_t size) {  // Mostly 'a': texts that overlap, and are each other's beginnings.
    std::string text;
    for (size_t i = 0; i < size; ++i) text += "aaaab\xFF"[random() % 6];
    return text;
  };
  std::vector<SpecialText> special;
  std::unique_ptr<Vocabulary> vocabulary;
  std::unique_ptr<SpecialTokens> tokens;
  int tokens_found = 0;
  for (int round = 0; round < 2000; ++round) {
    if (round % 20 == 0) {
      special.clear();
      for (size_t i = draw(1, 12); i > 0; --i) special.push_back({letters(draw(0, 9)), random() % 4 == 0 ? 3 : 4});
      vocabulary = OpenSpecialTexts(special);
      tokens = std::make_unique<SpecialTokens>(*vocabulary);
    }
    const std::string text = letters(draw(0, 40));
    std::vector<TextRange> literal;
    for (size_t at = draw(0, 20); at < text.size(); at = literal.back().end + draw(1, 20)) {
      literal.push_back({at, std::min(text.size(), at + draw(1, 5))});
    }
    const EncodeOptions options = {.parse_special = random() % 2 == 0, .literal = literal};
    Tokens found;
    for (const TextFragment& fragment : tokens->Split(text, options)) {
      found.insert(found.end(), fragment.text.size(), fragment.token.value_or(-1));
      tokens_found += fragment.token.has_value();
    }
    ASSERT_EQ(found, SplitPlainly(special, text, options)) << "round " << round << ", text " << text;
  }
  EXPECT_GT(tokens_found, 2000);
}

// Every start can be a token of any length, and nearly every one of these lengths runs into a longer token. A fraction of a
// second; trying the lengths one by one took minutes.
TEST(SpecialTokens, NestedTextsThatOverlapTakeLittleTime) {
  constexpr size_t kLongest = Vocabulary::kMaxSpecialBytes;
  std::vector<SpecialText> special;
  for (size_t size = 1; size < kLongest; ++size) special.push_back({std::string(size, 'a'), 4});
  special.push_back({std::string(kLongest - 1, 'a') + 'c', 4});
  const std::unique_ptr<Vocabulary> vocabulary = OpenSpecialTexts(special);
  const SpecialTokens tokens(*vocabulary);
  std::string text;
  while (text.size() < 64 << 10) text += std::string(kLongest / 2 + kLongest - 1, 'a') + 'c';
  const double begin = CpuSeconds();
  const size_t fragments = tokens.Split(text, {}).size();
  EXPECT_LT(CpuSeconds() - begin, TimeLimit(5.0));
  EXPECT_EQ(fragments, 2 * text.size() / (kLongest / 2 + kLongest));  // a^512 and a^1023 c, again and again.
}

TEST(Segmenter, HeaderExample) {
  const auto example = [](TokenizerFacts facts, Tokens* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::Create(facts));
    ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewBytePairSegmenter(facts, *vocabulary));
    std::vector<TokenId> tokens;
    segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
    *out = tokens;
    return absl::OkStatus();
  };
  const TokenizerMetadata metadata = SmallBytePair();
  Tokens tokens;
  ASSERT_TRUE(example(metadata.Facts(), &tokens).ok());
  EXPECT_EQ(tokens.size(), 4u);
}

TEST(SentencePiece, HeaderExample) {
  const auto example = [](TokenizerFacts facts, Tokens* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Vocabulary> vocabulary, Vocabulary::Create(facts));
    ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewSentencePieceSegmenter(facts, *vocabulary));
    std::vector<TokenId> tokens;
    segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
    *out = tokens;
    return absl::OkStatus();
  };
  const TokenizerMetadata metadata = SmallSentencePiece();
  Tokens tokens;
  ASSERT_TRUE(example(metadata.Facts(), &tokens).ok());
  EXPECT_EQ(tokens.size(), 6u);  // The space, and five bytes.
}

}  // namespace
}  // namespace tessera
