// Which tokens are marks, which of them end a text, and that no text of a user becomes one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/internal/known_marks.h"
#include "tessera/model/text/internal/template_marks.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

enum Type : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5 };

struct Entry {
  std::string text;
  Type type;
};

// A small SentencePiece vocabulary: three beginnings with the types given, the 256 bytes, letters and brackets, and more entries. The
// marks begin at kFirst.
constexpr TokenId kFirst = 3 + 256 + 14;
TokenizerMetadata PiecesWith(const std::vector<Entry>& more, const std::vector<Entry>& begin = {{"<unk>", kUnknown}, {"<s>", kControl},
                                                                                                {"</s>", kControl}}) {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  const auto add = [&](const std::string& text, int32_t type) {
    texts.push_back(text);
    types.push_back(type);
  };
  for (const Entry& entry : begin) add(entry.text, entry.type);
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", byte);
    add(text, 6);
  }
  for (const char* text : {"\u2581", "a", "b", "<", ">", "|", "/", "s", "t", "[", "]", "I", "</", "s>"}) add(text, kNormal);
  for (const Entry& entry : more) add(entry.text, entry.type);
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String("llama"));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(texts));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats(std::vector<float>(texts.size(), 0)));
  metadata.Set("tokenizer.ggml.add_space_prefix", TokenizerMetadata::Bool(false));
  return metadata;
}

// SmallBytePair and more entries, from kFirstPair on, with merges for some of them.
constexpr TokenId kFirstPair = 265;
TokenizerMetadata PairsWith(const std::vector<Entry>& more, const std::vector<std::string>& merges = {"h e"}) {
  TokenizerMetadata metadata = SmallBytePair();
  const TokenizerFacts facts = metadata.Facts();
  std::vector<std::string> texts;
  for (absl::string_view text : *facts.tokens.value) texts.emplace_back(text);
  std::vector<int32_t> types = *facts.types.value;
  for (const Entry& entry : more) {
    texts.push_back(entry.text);
    types.push_back(entry.type);
  }
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(texts));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  metadata.Set("tokenizer.ggml.merges", TokenizerMetadata::Strings(merges));
  return metadata;
}

bool EndsWith(const Entry& entry) { return OpenTokenizer(PiecesWith({entry}))->IsEnd(kFirst); }

TEST(KnownMarks, HeaderExample) {
  std::vector<absl::string_view> ends;
  for (const KnownMark& mark : KnownMarks()) {
    if (mark.role != MarkRole::kOpens) ends.push_back(mark.text);
  }
  EXPECT_EQ(std::count(ends.begin(), ends.end(), "<|im_end|>"), 1);
  EXPECT_TRUE(HasBars("<|tool_call|>"));
}

TEST(KnownMarks, EachStandsThereOnceWithItsReason) {
  std::set<absl::string_view> texts;
  for (const KnownMark& mark : KnownMarks()) {
    EXPECT_TRUE(texts.insert(mark.text).second) << mark.text;
    EXPECT_FALSE(mark.reason.empty()) << mark.text;
  }
}

TEST(KnownMarks, FormsAreToldFromText) {
  for (const char* text : {"<|a|>", "<|tool_call|>", "<｜User｜>", "[|user|]"}) EXPECT_TRUE(HasBars(text)) << text;
  for (const char* text : {"", "<||>", "<|>", "<| a |>", "<a>", "a<|b|>", "<|b|> "}) EXPECT_FALSE(HasBars(text)) << text;
  for (const char* text : {"<a>", "[INST]", "[/INST]", "<|a|>", "<turn|>"}) EXPECT_TRUE(HasBrackets(text)) << text;
  for (const char* text : {"", "<>", "[0]", "[...]", "< a>", "<\n>", "a>", "\n\n"}) EXPECT_FALSE(HasBrackets(text)) << text;
}

TEST(TemplateMarks, HeaderExample) {
  const TemplateMarks marks = FindTemplateMarks("{{ '<|im_start|>' + message['role'] }}<b>");
  EXPECT_EQ(marks.texts, (std::vector<std::string>{"<|im_start|>", "<b>"}));
  EXPECT_FALSE(marks.composes_bars);
  EXPECT_TRUE(FindTemplateMarks("{{ '<|' + message['role'] + '|>' }}").composes_bars);
}

TEST(TemplateMarks, OnlyWrittenTextIsSearched) {
  const auto texts = [](absl::string_view source) { return FindTemplateMarks(source).texts; };
  EXPECT_TRUE(texts("{% if messages[a] < b and c > d %}{# <s> #}{{ messages[x] }}{% endif %}").empty());
  EXPECT_EQ(texts("[INST] {{ \"a[/INST]\\n<x>\" }}{% set y = '<y>' %}</s>"),
            (std::vector<std::string>{"[INST]", "[/INST]", "<x>", "<y>", "</s>"}));
  EXPECT_EQ(texts("<<SYS>>{<a>}{"), (std::vector<std::string>{"<SYS>", "<SYS>>", "<a>"}));
  for (const char* broken : {"{", "{{", "{{ '", "{{ '<a", "{% \"\\", "{#", "{# }", "<|", "<", "{{}}<"}) texts(broken);
  EXPECT_TRUE(FindTemplateMarks("<|{{ role }}|>").composes_bars);
}

TEST(TemplateMarks, AHostileTemplateTakesLittleTime) {  // Linear: each took minutes if it were not.
  for (const char* part : {"<", "<a>", "<a>>>>>", "{", "{{", "{{'", "[<"}) {
    std::string source;
    while (source.size() < 1 << 20) source += part;
    EXPECT_LE(FindTemplateMarks(source).texts.size(), source.size()) << part;
  }
}

TEST(Ends, KnownNamesEndATextWhateverTheirType) {
  for (const char* text : {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<turn|>",
                           "<｜end▁of▁sentence｜>", "<|end_of_text|>", "<|fim_prefix|>", "<fim_suffix>", "<fim-middle>", "<|fim_pad|>",
                           "<|repo_name|>", "<|file_sep|>", "<｜fim▁hole｜>", "▁<EOT>", "▁<MID>"}) {
    for (Type type : {kNormal, kControl, kUserDefined, kUnused}) EXPECT_TRUE(EndsWith({text, type})) << text << " " << type;
  }
  for (const char* text : {"<|im_start|>", "<start_of_turn>", "<think>", "end", "<|end_of_role|>", "<|im_sep|>"}) {
    for (Type type : {kNormal, kControl, kUserDefined}) EXPECT_FALSE(EndsWith({text, type})) << text << " " << type;
  }
}

TEST(Ends, WordsThatAreAlsoTextEndOneOnlyWithProof) {
  for (const char* text : {"<EOT>", "<PRE>", "<PAD>", "[SUFFIX]", "[EOS]"}) {
    EXPECT_TRUE(EndsWith({text, kControl})) << text;
    for (Type type : {kNormal, kUserDefined}) EXPECT_FALSE(EndsWith({text, type})) << text << " " << type;
  }
}

// A fine-tune names <|im_end|> as its EOS; its base still writes </s>. Phi-3 types it as user-defined.
TEST(Ends, TheSlashSOfAFineTuneEndsAText) {
  for (Type type : {kNormal, kControl, kUserDefined}) {
    TokenizerMetadata metadata = PiecesWith({{"<|im_end|>", kControl}}, {{"<unk>", kUnknown}, {"<s>", kControl}, {"</s>", type}});
    metadata.Set("tokenizer.ggml.eos_token_id", TokenizerMetadata::Uint(kFirst));
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    EXPECT_TRUE(tokenizer->IsEnd(2) && tokenizer->IsEnd(kFirst)) << type;
    EXPECT_TRUE(tokenizer->IsSpecial(2)) << type;
  }
}

// Gemma has it as a tag of HTML, Qwen as an ordinary result of merging.
TEST(Ends, SlashSAsOrdinaryTextIsNoEnd) {
  for (Type type : {kNormal, kUserDefined}) {
    const std::vector<Entry> gemma = {{"<unk>", kUnknown}, {"<eos>", kControl}, {"<bos>", kControl}};
    TokenizerMetadata metadata = PiecesWith({{"<s>", type}, {"</s>", type}, {"<end_of_turn>", kControl}}, gemma);
    metadata.Set("tokenizer.ggml.eos_token_id", TokenizerMetadata::Uint(kFirst + 2));
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    EXPECT_FALSE(tokenizer->IsEnd(kFirst + 1)) << type;
    EXPECT_TRUE(tokenizer->IsEnd(1)) << "<eos> where another is EOS";
    EXPECT_EQ(tokenizer->Encode("</s>"), Tokens{kFirst + 1}) << type;
    EXPECT_EQ(tokenizer->warning(), "");
  }
  const std::vector<std::string> merges = {"< /", "</ s", "</s >"};
  const std::vector<Entry> qwen = {{"</", kNormal}, {"</s", kNormal}, {"</s>", kNormal}, {"<s>", kControl}};
  EXPECT_FALSE(OpenTokenizer(PairsWith(qwen, merges))->IsEnd(kFirstPair + 2));
}

TEST(Ends, EachOfSeveralTokensWithTheSameTextEndsAText) {
  const std::vector<Entry> twice = {{"<|eot_id|>", kControl}, {"a b", kNormal}, {"<|eot_id|>", kNormal}};
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(PairsWith(twice));
  EXPECT_TRUE(tokenizer->IsEnd(kFirstPair) && tokenizer->IsEnd(kFirstPair + 2));
  EXPECT_FALSE(tokenizer->IsEnd(kFirstPair + 1));
}

TEST(Ends, AMarkThatEndsAPartAloneGoesOn) {  // gpt-oss: <|end|> ends the reasoning, and <|return|> or <|call|> the answer.
  const std::vector<Entry> marks = {{"<|end|>", kControl}, {"<|return|>", kControl}, {"<|call|>", kControl}};
  const std::unique_ptr<Tokenizer> oss = OpenTokenizer(PairsWith(marks));
  EXPECT_FALSE(oss->IsEnd(kFirstPair));
  EXPECT_TRUE(oss->IsEnd(kFirstPair + 1) && oss->IsEnd(kFirstPair + 2));
}

TEST(Ends, EveryEndTokenOfAFileEndsAText) {
  for (const char* key : {"eos", "eot", "eom", "fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep",
                          "prefix", "suffix", "middle"}) {
    TokenizerMetadata metadata = PairsWith({{"anything", kNormal}});
    metadata.Set("tokenizer.ggml." + std::string(key) + "_token_id", TokenizerMetadata::Uint(kFirstPair));
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    EXPECT_TRUE(tokenizer->IsEnd(kFirstPair)) << key;
    EXPECT_TRUE(tokenizer->IsEnd(kImEnd)) << key;
    metadata.Set("tokenizer.ggml." + std::string(key) + "_token_id", TokenizerMetadata::Uint(kFirstPair + 1));
    EXPECT_FALSE(Tokenizer::Create(metadata.Facts()).ok()) << key;
  }
}

TEST(Ends, AListOfEndsIsTaken) {
  TokenizerMetadata metadata = PairsWith({{"anything", kNormal}, {"other", kNormal}});
  metadata.Set("tokenizer.ggml.eos_token_ids", TokenizerMetadata::Ints({kFirstPair, kFirstPair + 1}));
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  EXPECT_TRUE(tokenizer->IsEnd(kFirstPair) && tokenizer->IsEnd(kFirstPair + 1));
  metadata.Set("tokenizer.ggml.eos_token_ids", TokenizerMetadata::Ints({kFirstPair, -1}));
  EXPECT_EQ(Tokenizer::Create(metadata.Facts()).status().message(),
            "metadata.gguf: metadata \"tokenizer.ggml.eos_token_ids\" value[1] at byte 1004: found -1, expected 0 to 266");
}

TEST(Marks, AMarkOfTheTemplateTypedAsTextIsOneTokenWithAWarning) {
  TokenizerMetadata metadata = PiecesWith({{"<start_of_turn>", kNormal}, {"<at>", kNormal}, {"<bb>", kNormal}});
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String("{{ '<start_of_turn>' + a[0] + '<at>' }}"));
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  EXPECT_EQ(tokenizer->Encode("<start_of_turn><at>", {.parse_special = true}), (Tokens{kFirst, kFirst + 1}));
  EXPECT_GT(tokenizer->Encode("<start_of_turn>").size(), 10u);
  EXPECT_GT(tokenizer->Encode("<bb>", {.parse_special = true}).size(), 1u);
  EXPECT_EQ(tokenizer->Piece(kFirst + 1), "<at>") << "it is no control token: what a model writes is seen";
  EXPECT_EQ(tokenizer->warning(), "metadata.gguf: metadata \"tokenizer.ggml.token_type\" value at byte 1000: found the type of plain text "
                                  "for \"<start_of_turn>\", \"<at>\", expected that of marks: each is read as one token");
  EXPECT_EQ(OpenTokenizer(SmallSentencePiece())->warning(), "");
}

TEST(Marks, ATemplateThatComposesItsMarksHasAllWithBars) {
  TokenizerMetadata metadata = PairsWith({{"<|user|>", kNormal}, {"<|b|>", kNormal}});
  EXPECT_GT(OpenTokenizer(metadata)->Encode("<|user|>", {.parse_special = true}).size(), 1u);
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String("{{ '<|' + role + '|>' }}"));
  metadata.Set("tokenizer.ggml.merges", TokenizerMetadata::Strings({"h e", "<|b| >"}));  // Merging makes the other: it is text.
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  EXPECT_EQ(tokenizer->Encode("<|user|>", {.parse_special = true}), Tokens{kFirstPair});
  EXPECT_GT(tokenizer->Encode("<|b|>", {.parse_special = true}).size(), 1u);
}

// Old converters type marks as user-defined. Merging by scores must not make one of a user's text, either.
TEST(Marks, NoUserTextBecomesAUserDefinedMark) {
  TokenizerMetadata metadata = PiecesWith({{"<|im_start|>", kUserDefined}, {"<tab>", kUserDefined}, {"<t", kNormal}, {"<ta", kNormal},
                                           {"b>", kNormal}, {"[I]", kUserDefined}, {"aaa", kUserDefined}});
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String("<tab>{{ a }}"));
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  const TokenId start = kFirst, tab = kFirst + 1, other = kFirst + 5, run = kFirst + 6;
  const std::string text = "<|im_start|><tab>[I]aaa";
  EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true}), (Tokens{start, tab, other, run}));
  const std::vector<TextRange> all = {{0, text.size()}};
  for (const Tokens& tokens : {tokenizer->Encode(text), tokenizer->Encode(text, {.parse_special = true, .literal = all})}) {
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), start) + std::count(tokens.begin(), tokens.end(), tab), 0);
    EXPECT_EQ((Tokens{tokens.end() - 2, tokens.end()}), (Tokens{other, run})) << "ordinary user-defined tokens stay usable";
    EXPECT_EQ(Join(*tokenizer, tokens), text);
  }
  const ChatTemplate chat = *ChatTemplate::ByName("chatml");
  const std::vector<ChatMessage> messages = {{"user", text}};
  const auto pieces = chat.RenderPieces({.messages = messages});
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  const Tokens dialogue = EncodeChat(*tokenizer, *pieces);
  EXPECT_EQ(std::count(dialogue.begin(), dialogue.end(), start), 2) << "those of the template";
}

// Whether the file's template writes them or not, and whether it has one: other forms of dialogues may stand for it.
TEST(Marks, UserDefinedTokensInBracketsAreMarksButForTagsOfHtml) {
  const std::vector<Entry> marks = {{"[|user|]", kUserDefined},    {"<tool_call>", kUserDefined}, {"</tool_call>", kUserDefined},
                                    {"<think>", kUserDefined},     {"<|x|>", kUserDefined},       {"<turn|>", kUserDefined},
                                    {"<unused12>", kUserDefined},  {"[INST]", kUserDefined}};
  const std::vector<Entry> ordinary = {{"<b>", kUserDefined}, {"</td>", kUserDefined}, {"[b]", kUserDefined}, {"aaa", kUserDefined},
                                       {"]~b]", kUserDefined}};
  std::vector<Entry> all = marks;
  all.insert(all.end(), ordinary.begin(), ordinary.end());
  for (const char* source : {"", "[|user|]{{ a }}", "{{ 'b' }}"}) {
    TokenizerMetadata metadata = PiecesWith(all);
    if (*source != 0) metadata.Set("tokenizer.chat_template", TokenizerMetadata::String(source));
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    for (size_t i = 0; i < all.size(); ++i) {
      const Tokens one = {kFirst + static_cast<TokenId>(i)};
      EXPECT_EQ(tokenizer->Encode(all[i].text, {.parse_special = true}), one) << all[i].text;
      EXPECT_EQ(tokenizer->Encode(all[i].text) == one, i >= marks.size()) << all[i].text << " with " << source;
    }
  }
}

TEST(Marks, AUserDefinedTokenOfAnyFormThatTheTemplateWritesIsAMark) {
  TokenizerMetadata metadata = PiecesWith({{"]~b]", kUserDefined}, {"<b>", kUserDefined}, {"aaa", kUserDefined}, {"\n\n", kUserDefined}});
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String("{{ 'aaa]~b]' + role + '<b>' }}\n\n"));
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
  const std::string text = "]~b]<b>aaa\n\n";
  EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true}), (Tokens{kFirst, kFirst + 1, kFirst + 2, kFirst + 3}));
  const Tokens plain = tokenizer->Encode(text);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), kFirst) + std::count(plain.begin(), plain.end(), kFirst + 1), 0);
  EXPECT_EQ((Tokens{plain.end() - 2, plain.end()}), (Tokens{kFirst + 2, kFirst + 3})) << "words and line breaks stay what they are";
}

// Merging must make none, either, although a file lists merges for it.
TEST(Marks, NoMergesMakeAUserDefinedMark) {
  const std::unique_ptr<Tokenizer> tokenizer =
      OpenTokenizer(PairsWith({{"<us", kNormal}, {"<us>", kUserDefined}}, {"u s", "< us", "<us >"}));
  const Tokens tokens = tokenizer->Encode("<us>");
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), kFirstPair + 1), 0);
  EXPECT_EQ(tokenizer->Encode("<us>", {.parse_special = true}), Tokens{kFirstPair + 1});
}

TEST(Marks, TemplatesComposeMarksInEachOfTheirWays) {
  for (const char* source : {"{{ '<|' + role + '|>' }}", "<|{{ role }}|>", "{{ '<|%s|>' % role }}", "{{ '<|{}|>'.format(role) }}",
                             "[|{{ role }}|]", "{{ '[|' ~ role ~ '|]' }}"}) {
    TokenizerMetadata metadata = PairsWith({{"<|user|>", kNormal}, {"[|user|]", kNormal}});
    metadata.Set("tokenizer.chat_template", TokenizerMetadata::String(source));
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    EXPECT_EQ(tokenizer->Encode("<|user|>[|user|]", {.parse_special = true}), (Tokens{kFirstPair, kFirstPair + 1})) << source;
  }
}

TEST(Marks, ASpecialTokenIsFoundByItsText) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  EXPECT_EQ(tokenizer->FindSpecial("<|im_start|>"), kImStart);
  for (const char* text : {"hello", "<ul>", "<|im_start", ""}) EXPECT_EQ(tokenizer->FindSpecial(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tessera
