#include "tessera/runtime/chat/shown_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tessera/model/text/text_stream.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/space_prefix_vocabulary.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

// What a text writer makes of these tokens, of which the last completes a stop text, if one does.
Generation Written(const Tokenizer& tokenizer, const Tokens& tokens, const std::string& stop, bool starts_text = false) {
  Generation result = {.reason = FinishReason::kLength};
  TextStream stream(&tokenizer, {.render_special = false, .starts_text = starts_text});
  StopStrings stops({stop});
  for (const TokenId token : tokens) {
    result.tokens.push_back(token);
    result.text += stops.Append(stream.Append(token));
    if (!stops.stopped()) continue;
    result.reason = FinishReason::kStopString;
    return result;
  }
  result.text += stops.Append(stream.Finish());
  result.text += stops.Finish();
  return result;
}

TEST(ShownText, HeaderExample) {
  const std::unique_ptr<Engine> engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  const int prompt = 1;
  Must(session->Append({'x', kHello}));
  const Generation result = Written(engine->tokenizer(), {kHello, 'o'}, "loo");
  const ShownText shown = ShownTextOf(result, engine->tokenizer(), /*starts_text=*/false);
  session->Truncate(std::min(session->length(), prompt + shown.tokens));
  const Tokens next = engine->tokenizer().Encode(shown.rest, {.continues = true});
  EXPECT_EQ(session->length(), 1);
  EXPECT_EQ(next, (Tokens{kHe, 'l'}));
}

TEST(ShownText, EndsBeforeTheStopTextWhereverThatBegins) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  struct Case {
    Tokens tokens;
    std::string stop;
    int kept;
    std::string rest;
  };
  const Case cases[] = {
      {{kHello, 'x', kSpaceHello}, " he", 2, ""},              // At the border of two tokens.
      {{kHello, 'x', kSpaceHello}, "lox", 0, "hel"},           // Within a token,
      {{'x', kHello, kSpaceHello}, "o h", 1, "hell"},          // over two,
      {{'x', kHello}, "xhel", 0, ""},                          // and from the beginning.
      {{'a', 0xC3, 0xA9, 'b', 'c'}, "bc", 3, ""},              // Behind a character of two tokens,
      {{'a', 0xC3, 0xA9, 'b', 'c'}, "\xC3\xA9", 1, ""},        // that character,
      {{'a', 0xC3, 0xA9, 'b', 'c'}, "ab", 5, ""},              // and no stop at all.
      {{'a', 0xFF, 'b', 'c'}, "c", 3, ""},                     // A byte that was shown as U+FFFD stays.
      {{'a', 0xC3, 'b', 'c'}, "c", 3, ""},
      {{'a', kImStart, 'b', 'c'}, "c", 3, ""},                 // A special token within stays,
      {{'a', kImStart, 'b', 'c'}, "bc", 1, ""},                // and one beside the stop text goes with it.
      {{kImStart, 'b'}, "b", 0, ""},
  };
  for (const Case& c : cases) {
    const ShownText shown = ShownTextOf(Written(*tokenizer, c.tokens, c.stop), *tokenizer, /*starts_text=*/false);
    EXPECT_EQ(shown.tokens, c.kept) << c.stop;
    EXPECT_EQ(shown.rest, c.rest) << c.stop;
  }
}

TEST(ShownText, ATokenThatEndsTheTextGoesAndAllElseStays) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  const auto kept = [&](const Tokens& tokens, const std::string& text, FinishReason reason) {
    const ShownText shown = ShownTextOf({.tokens = tokens, .text = text, .reason = reason}, *tokenizer, /*starts_text=*/false);
    EXPECT_EQ(shown.rest, "");
    return shown.tokens;
  };
  EXPECT_EQ(kept({'a', kImEnd}, "a", FinishReason::kEndToken), 1);
  EXPECT_EQ(kept({'a', kImStart}, "a", FinishReason::kStopString), 1) << "the stop text is a special token's";
  EXPECT_EQ(kept({'a', 0xC3, kImStart}, "a\xEF\xBF\xBD", FinishReason::kStopString), 2);
  for (const FinishReason reason : {FinishReason::kLength, FinishReason::kContextFull, FinishReason::kCancelled}) {
    EXPECT_EQ(kept({'a', 0xC3}, "a\xEF\xBF\xBD", reason), 2) << "the next token may complete the character";
    EXPECT_EQ(kept({}, "", reason), 0);
  }
}

// The tokens that stay and those of the rest are the text that was shown, whatever the text, the stop text and the vocabulary.
TEST(ShownText, EqualsTheTextThatWasShown) {
  std::mt19937 random(1);
  for (const TokenizerMetadata& metadata : {SmallBytePair(), SmallSentencePiece(), SpacePrefixVocabulary()}) {
    const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(metadata);
    int cut = 0;
    for (int round = 0; round < 2000; ++round) {
      Tokens tokens;
      for (int i = 0; i < 8; ++i) {
        const int letters = tokenizer->vocabulary_size() - 256;   // Half of them from the longer pieces at the end.
        const int any = static_cast<int>(random()) & 0x7FFFFFFF;
        tokens.push_back(i % 2 == 0 ? 'a' + any % 26 : 256 + any % letters);
      }
      const std::string all = Join(*tokenizer, tokens);
      const std::string stop = all.substr(random() % all.size(), 1 + random() % 3);
      const bool starts_text = round % 2 == 0;
      const Generation result = Written(*tokenizer, tokens, stop, starts_text);
      const ShownText shown = ShownTextOf(result, *tokenizer, starts_text);
      TextStream stream(tokenizer.get(), {.render_special = false, .starts_text = starts_text});
      std::string text;
      for (int i = 0; i < shown.tokens; ++i) text += stream.Append(tokens[static_cast<size_t>(i)]);
      EXPECT_EQ(text + stream.Finish() + shown.rest, result.text) << "stop " << stop;
      EXPECT_LE(shown.rest.size(), 8u) << "the longest token";
      cut += !shown.rest.empty();
    }
    EXPECT_GT(cut, 50);
  }
}

}  // namespace
}  // namespace tessera
