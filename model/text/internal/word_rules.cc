#include "tessera/model/text/internal/word_rules.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tessera/model/text/internal/cut_words.h"
#include "tessera/model/text/internal/model_patterns.h"

namespace tessera {
namespace {

using Letters = In<kLetter>;
using Numbers = In<kNumber>;
using Others = NotIn<kWhiteSpace | kLetter | kNumber>;
using LetterPrefix = Except<NotIn<kLetter | kNumber>, LineEnd>;  // [^\r\n\p{L}\p{N}]
using LetterWord = OptionalThenRun<LetterPrefix, Letters>;
using OtherWord = OptionalThenRun<Blank, Others>;
using OtherLine = ThenRun<OtherWord, LineEnd>;                 //  ?[^\s\p{L}\p{N}]+[\r\n]*
using OtherPath = ThenRun<OtherWord, AnyOf<LineEnd, Codes<'/'>>>;
using AnyEnding = Ending<true>;

using Gpt2 = OneOf<Ending<false>, OptionalThenRun<Blank, Letters>, OptionalThenRun<Blank, Numbers>, OtherWord, Blanks>;
template <typename Digits>
using Llama3 = OneOf<AnyEnding, LetterWord, Digits, OtherLine, BlankLines, Blanks>;
using Qwen2 = Llama3<UpTo<Numbers, 1>>;
using Qwen35 = OneOf<AnyEnding, OptionalThenRun<LetterPrefix, In<kLetter | kMark>>, UpTo<Numbers, 1>,
                     ThenRun<OptionalThenRun<Blank, NotIn<kWhiteSpace | kLetter | kMark | kNumber>>, LineEnd>, BlankLines, Blanks>;
using NoEnglish = OneOf<LetterWord, UpTo<Numbers, 1>, OtherLine, BlankLines, Blanks>;
using Jais2 = OneOf<AnyEnding, LetterWord, UpTo<Numbers, 3>, OtherLine, BlankLines, HalvedBlanks>;
using SeedCoder = OneOf<AnyEnding, LetterWord, UpTo<Numbers, 1>, OtherWord, BlankLines, Blanks>;
using ExaoneMoe = OneOf<AnyEnding, SpacedLetters<LetterPrefix>, UpTo<Numbers, 1>,
                        ThenMaybe<OtherWord, UpTo<AnyOf<LineEnd, Codes<'/'>>, 1>>, BlankLines, Blanks>;
using Tekken = OneOf<CasedWord<LetterPrefix, 0>, UpTo<Numbers, 1>, OtherPath, BlankLines, Blanks>;
template <int digits>
using Gpt4o = OneOf<ThenMaybe<CasedWord<LetterPrefix, 0>, AnyEnding>, UpTo<Numbers, digits>, OtherPath, BlankLines, Blanks>;
using KimiK2 = OneOf<RunOf<In<kHan>>, ThenMaybe<CasedWord<LetterPrefix, kHan>, AnyEnding>, UpTo<Numbers, 3>, OtherLine, BlankLines, Blanks>;

using AsciiMarks = AnyOf<Between<'!', '/'>, Between<':', '@'>, Between<'[', '`'>, Between<'{', '~'>>;
using AsciiLetters = AnyOf<Between<'A', 'Z'>, Between<'a', 'z'>>;
using MarkedWord = OptionalThenRun<Except<NotIn<kLetter | kPunctuation | kSymbol>, LineEnd>, In<kLetter | kMark>>;
using MarksOrSymbols = OptionalThenRun<Blank, In<kPunctuation | kSymbol>>;
using DeepSeekV3 = OneOf<MarkThenRun<AsciiMarks, AsciiLetters>, MarkedWord, ThenRun<MarksOrSymbols, LineEnd>, BlankLines, Blanks>;
using Spark = OneOf<MarkThenRun<AsciiMarks, AsciiLetters>, MarkedWord, MarksOrSymbols, UpTo<LineEnd, 1>, Blanks>;
using HanAndKana = AnyOf<Between<0x4e00, 0x9fa5>, Between<0x3040, 0x30ff>>;
using DeepSeekAsian = AnyOf<Between<0x800, 0x9fa5>, Between<0xac00, 0xd7ff>>;
using DeepSeekMarks = AnyOf<Between<'!', '/'>, Between<':', '~'>, Between<0xff01, 0xff0f>, Between<0xff1a, 0xff5e>,
                            Between<0x2018, 0x201f>, Between<0x3000, 0x3002>>;
using AfmoeAsian = AnyOf<Between<0x3400, 0x4dbf>, Between<0x4e00, 0x9fff>, Between<0xf900, 0xfaff>, Between<0x3040, 0x30ff>,
                         Between<0xff65, 0xff9f>, Between<0x2f00, 0x2fdf>, Between<0xe40, 0xe7f>, Between<0xe80, 0xeff>,
                         Between<0x1780, 0x17ff>, Between<0x1000, 0x109f>, Between<0xaa60, 0xaa7f>, Between<0xa9e0, 0xa9ff>,
                         Between<0xac00, 0xd7af>, Between<0x1100, 0x11ff>>;
using YoutuScripts = OneOf<RunOf<AnyOf<Between<0xac00, 0xd7a3>, Between<0x3131, 0x318e>>>,
                           RunOf<AnyOf<Codes<0x2014, 0x2018, 0x2019, 0x201c, 0x201d, 0x2026, 0xff01, 0xff0c, 0xff1a, 0xff1b>,
                                     Between<0x3001, 0x303f>, Between<0xfe30, 0xfe4f>>>,
                           RunOf<Between<0x3105, 0x312f>>, RunOf<HanAndKana>>;
using FalconMarks = AnyOf<In<kPunctuation>, Codes<'$', '+', '<', '=', '>', '^', '~', '|'>>;
using BloomWord = OptionalThenRun<
    Blank, Except<NotIn<kWhiteSpace>, Codes<'(', ')', '|', '.', ',', '!', '?', 0x2026, 0x3002, 0xff0c, 0x3001, 0x964, 0x6d4, 0x60c>>>;
using NewLine = Codes<'\n'>;
using Lines = OneOf<RunOf<Except<NotIn<0>, NewLine>>, RunOf<NewLine>>;

// Shorter names for the steps of the rules.
template <typename Pattern>
constexpr CutWords* kBy = CutByPattern<Pattern>;
template <typename Set>
constexpr CutWords* kEach = CutByPattern<UpTo<Set, 1>>;
template <typename Set>
constexpr CutWords* kRuns = CutByPattern<RunOf<Set>>;

constexpr CutWords* kGpt2[] = {kBy<Gpt2>};
constexpr CutWords* kDigitsThenGpt2[] = {kEach<Numbers>, kBy<Gpt2>};
constexpr CutWords* kLlama3[] = {kBy<Llama3<UpTo<Numbers, 3>>>};
constexpr CutWords* kMiniCpm5[] = {kBy<UpTo<Numbers, 3>>, kBy<Llama3<RunOf<Numbers>>>};
constexpr CutWords* kQwen2[] = {kBy<Qwen2>};
constexpr CutWords* kLaguna[] = {kBy<Lines>, kBy<Qwen2>};
constexpr CutWords* kQwen35[] = {kBy<Qwen35>};
constexpr CutWords* kUfakzeka[] = {kBy<NoEnglish>};
constexpr CutWords* kJais2[] = {kBy<Jais2>};
constexpr CutWords* kSeedCoder[] = {kBy<SeedCoder>};
constexpr CutWords* kExaoneMoe[] = {kBy<ExaoneMoe>};
constexpr CutWords* kTekken[] = {kBy<Tekken>};
constexpr CutWords* kGpt4o[] = {kBy<Gpt4o<3>>};
constexpr CutWords* kTinyAya[] = {CutLoneDigitsFromTheEnd, kBy<Gpt4o<3>>};
constexpr CutWords* kYoutu[] = {kBy<YoutuScripts>, kBy<Gpt4o<1>>};
constexpr CutWords* kKimiK2[] = {kBy<KimiK2>};
constexpr CutWords* kDeepSeekV3[] = {kBy<UpTo<Numbers, 3>>, kRuns<HanAndKana>, kBy<DeepSeekV3>};
constexpr CutWords* kSpark[] = {kBy<UpTo<Numbers, 3>>, kRuns<HanAndKana>, kBy<Spark>, kEach<Numbers>};
constexpr CutWords* kAfmoe[] = {CutNumbersFromTheEnd, kRuns<AfmoeAsian>, kBy<DeepSeekV3>};
constexpr CutWords* kDeepSeekLlm[] = {kEach<LineEnd>, kBy<OptionalThenRun<White, EuropeanLetters>>,
                                      kBy<OptionalThenRun<White, DeepSeekMarks>>, CutWhiteEnd, kRuns<DeepSeekAsian>, kRuns<Numbers>};
constexpr CutWords* kDeepSeekCoder[] = {kEach<LineEnd>, kBy<OptionalThenRun<White, Letters>>,
                                        kBy<OptionalThenRun<White, In<kPunctuation>>>, kRuns<DeepSeekAsian>, kEach<Numbers>};
constexpr CutWords* kFalcon[] = {kRuns<AnyOf<FalconMarks, Codes<'`'>>>, kBy<Gpt2>, kBy<Exactly<Between<'0', '9'>, 3>>};
constexpr CutWords* kDefault[] = {kRuns<FalconMarks>, kBy<Gpt2>, kRuns<Numbers>, kBy<Exactly<Between<'0', '9'>, 3>>};
constexpr CutWords* kBloom[] = {kBy<BloomWord>};
constexpr CutWords* kViking[] = {kBy<BloomWord>, kEach<Numbers>};
constexpr CutWords* kSuperBpe[] = {kRuns<Numbers>, CutBeforeThreeDigits};

struct NamedRule {
  absl::string_view name;
  WordRule rule;
};

constexpr NamedRule Plain(absl::string_view name, absl::Span<CutWords* const> cuts) { return {name, {cuts}}; }
constexpr NamedRule FormC(absl::string_view name, absl::Span<CutWords* const> cuts) { return {name, {cuts, true}}; }
constexpr NamedRule Known(absl::string_view name, absl::Span<CutWords* const> cuts) { return {name, {cuts, false, true}}; }
constexpr NamedRule KnownBos(absl::string_view name, absl::Span<CutWords* const> cuts) { return {name, {cuts, false, true, true}}; }

// In alphabetical order.
constexpr NamedRule kRules[] = {
    Plain("a.x-4.0", kGpt2), Plain("afmoe", kAfmoe), Plain("bailingmoe", kQwen2), Plain("bailingmoe2", kQwen2), Plain("bloom", kBloom),
    Plain("chatglm-bpe", kLlama3), Plain("codeshell", kDigitsThenGpt2), FormC("cohere2moe", kTinyAya),
    FormC("command-r", kDigitsThenGpt2), Plain("dbrx", kLlama3), Plain("deepseek-coder", kDeepSeekCoder),
    Plain("deepseek-llm", kDeepSeekLlm), FormC("deepseek-r1-qwen", kQwen2), Plain("deepseek-v3", kDeepSeekV3),
    Plain("default", kDefault), Plain("exaone", kDigitsThenGpt2), Plain("exaone-moe", kExaoneMoe), Plain("exaone4", kGpt2),
    FormC("f2llmv2", kQwen2), Plain("falcon", kFalcon), KnownBos("falcon-h1", kLlama3), KnownBos("falcon3", kLlama3),
    Plain("gigachat", kGpt2), Known("glm4", kLlama3), Known("glm5", kLlama3), Plain("gpt-2", kGpt2), Plain("gpt-4o", kGpt4o),
    Plain("gpt3-finnish", kBloom), Plain("granite-docling", kGpt2), Known("granite-embed-multi-97m", kGpt4o), Plain("grok-2", kQwen2),
    FormC("hunyuan", kQwen2), Plain("hunyuan-dense", kDeepSeekV3), Plain("hy_v4", kDeepSeekV3), Plain("jais", kGpt2),
    Plain("jais-2", kJais2), Plain("jina-de", kGpt2), Plain("jina-es", kGpt2), Plain("jina-v1-en", kGpt2), Plain("jina-v2-code", kGpt2),
    Plain("jina-v2-de", kGpt2), Plain("jina-v2-es", kGpt2), KnownBos("jina-v5-nano", kLlama3), Plain("joyai-llm", kDeepSeekV3),
    Plain("kanana2", kGpt4o), Plain("kimi-k2", kKimiK2), FormC("kormo", kQwen2), Plain("laguna", kLaguna), KnownBos("lfm2", kLlama3),
    Plain("llada-moe", kQwen2), KnownBos("llama-bpe", kLlama3), KnownBos("llama-v3", kLlama3), KnownBos("llama3", kLlama3),
    Plain("llama4", kGpt4o), FormC("megrez", kQwen2), Plain("mellum", kGpt2), Plain("mellum2", kDigitsThenGpt2),
    KnownBos("midm-2.0", kLlama3), Plain("minerva-7b", kDigitsThenGpt2), Known("minicpm5", kMiniCpm5), Plain("minimax-m2", kGpt4o),
    FormC("modern-bert", kGpt2), FormC("mpt", kGpt2), FormC("olmo", kGpt2), Plain("phi-2", kGpt2), KnownBos("pixtral", kLlama3),
    Plain("poro-chat", kBloom), FormC("qwen2", kQwen2), Plain("qwen35", kQwen35), Plain("refact", kDigitsThenGpt2),
    Plain("roberta-bpe", kGpt2), Plain("seed-coder", kSeedCoder), Plain("smaug-bpe", kLlama3), Plain("smollm", kDigitsThenGpt2),
    Plain("solar-open", kQwen2), Plain("spark2_5", kSpark), FormC("stablelm2", kQwen2), Plain("starcoder", kDigitsThenGpt2),
    Plain("superbpe", kSuperBpe), Plain("talkie", kGpt4o), KnownBos("tekken", kTekken), FormC("tiny_aya", kTinyAya),
    Plain("trillion", kGpt2), Plain("ufakzeka", kUfakzeka), Plain("viking", kViking), Known("youtu", kYoutu),
};

}  // namespace

const WordRule* FindWordRule(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kRules), std::end(kRules), [&](const NamedRule& rule) { return rule.name == name; });
  return found == std::end(kRules) ? nullptr : &found->rule;
}

std::string WordRuleNames() {
  return absl::StrJoin(kRules, ", ", [](std::string* out, const NamedRule& rule) { out->append(rule.name.data(), rule.name.size()); });
}

}  // namespace tessera
