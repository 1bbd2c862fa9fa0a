// Where steps and texts end, token by token.
#include "tessera/runtime/scale/step_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/random.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

const Tokenizer& SmallTokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  return *tokenizer;
}

// Steps as they come of these tokens, the last one where the text ends or nothing is left to add.
std::vector<std::string> StepsOf(const std::vector<TokenId>& tokens, const StepTextOptions& options) {
  StepText text(SmallTokenizer(), options);
  std::vector<std::string> steps;
  for (const TokenId token : tokens) {
    if (text.ended()) break;
    if (text.step_ended()) text.BeginStep();
    text.Add(token);
    if (text.step_ended()) steps.emplace_back(text.step());
  }
  if (!text.step_ended()) steps.emplace_back(text.step());
  return steps;
}

using Steps = std::vector<std::string>;

TEST(StepText, HeaderExample) {
  const StepTextOptions rules = {.delimiter = "\n\n", .max_tokens = 512};
  StepText text(SmallTokenizer(), rules);
  for (const TokenId token : {TokenId{kHello}, TokenId{'\n'}, TokenId{'\n'}}) {
    ASSERT_FALSE(text.step_ended());
    text.Add(token);
  }
  EXPECT_TRUE(text.step_ended());
  EXPECT_FALSE(text.ended());
  EXPECT_EQ(text.step(), "hello\n\n");
  StepText other = text;
  other.BeginStep();
  other.Add(kUs);
  EXPECT_EQ(other.text(), "hello\n\nus");
  EXPECT_EQ(other.step(), "us");
  EXPECT_EQ(text.text(), "hello\n\n");
}

TEST(StepText, ATokenThatGoesOnBehindTheDelimiterStaysWhole) {
  const StepTextOptions options = {.delimiter = "e"};
  StepText text(SmallTokenizer(), options);
  text.Add(kHello);
  EXPECT_TRUE(text.step_ended());
  EXPECT_EQ(text.text(), "he");
  EXPECT_EQ(text.tokens(), std::vector<TokenId>{kHello});
  text.BeginStep();
  EXPECT_EQ(text.step(), "llo") << "the rest begins the next step";
  text.Add(kUs);
  text.Add(kHe);
  EXPECT_EQ(text.step(), "lloushe");
  EXPECT_EQ(text.text(), "helloushe");
  EXPECT_EQ(text.tokens(), (std::vector<TokenId>{kHello, kUs, kHe}));
}

TEST(StepText, ADelimiterThatLiesInSuchARestEndsNoStep) {
  // "hell" has two of them: the second is in the rest, and the next step has a token of its own all the same.
  EXPECT_EQ(StepsOf({kHell, kUs, 'l'}, {.delimiter = "l"}), (Steps{"hel", "lusl"}));
  // The rest may be the beginning of one.
  EXPECT_EQ(StepsOf({kHello, 'u', 's'}, {.delimiter = "lou"}), (Steps{"hellou", "s"}));
  EXPECT_EQ(StepsOf({kHell, 'l', 'l'}, {.delimiter = "el"}), (Steps{"hel", "lll"}));
  EXPECT_EQ(StepsOf({kHell, 'l', 'l'}, {.delimiter = "ll"}), (Steps{"hell", "ll"}));
  EXPECT_EQ(StepsOf({kLl, 'l', 'o', 'l', 'l'}, {.delimiter = "l"}), (Steps{"l", "ll", "ol", "l"}));
}

TEST(StepText, AStepEndsByItsLengthAndADelimiterAcrossTheCutIsNone) {
  EXPECT_EQ(StepsOf({'a', '\n', '\n', 'b', '\n', '\n'}, {.delimiter = "\n\n", .max_step_tokens = 2}), (Steps{"a\n", "\nb", "\n\n"}));
  EXPECT_EQ(StepsOf({'a', ';', ';'}, {.delimiter = ";", .max_step_tokens = 1}), (Steps{"a", ";", ";"}));
}

TEST(StepText, ACharacterMayLieAcrossSteps) {
  // "é" is C3 A9. The delimiter is not found in half of it, and half of it is not shown.
  const std::vector<TokenId> tokens = {'a', 0xC3, 0xA9, ';'};
  EXPECT_EQ(StepsOf(tokens, {.delimiter = ";", .max_step_tokens = 2}), (Steps{"a", "é;"}));
  EXPECT_EQ(StepsOf(tokens, {.delimiter = "é"}), (Steps{"aé", ";"}));
  EXPECT_EQ(StepsOf({'a', 0xC3}, {.delimiter = ";", .max_tokens = 2}), (Steps{"a\xEF\xBF\xBD"})) << "at the end it is a mark";
}

TEST(StepText, TheTextEndsAtAnEndTokenALimitOrAStopString) {
  const auto ended = [](const std::vector<TokenId>& tokens, const StepTextOptions& options) {
    StepText text(SmallTokenizer(), options);
    for (const TokenId token : tokens) {
      EXPECT_FALSE(text.ended());
      if (text.step_ended()) text.BeginStep();
      text.Add(token);
    }
    EXPECT_TRUE(text.ended());
    EXPECT_EQ(text.tokens().size(), tokens.size());
    return std::pair(text.reason(), std::string(text.text()));
  };
  using Ended = std::pair<FinishReason, std::string>;
  EXPECT_EQ(ended({kImEnd}, {}), Ended(FinishReason::kEndToken, ""));
  EXPECT_EQ(ended({'a', '\n', '\n', kImEnd}, {}), Ended(FinishReason::kEndToken, "a\n\n"));
  EXPECT_EQ(ended({'a', kHello}, {.delimiter = "e", .max_tokens = 2}), Ended(FinishReason::kLength, "ahello"))
      << "a text that ends shows the rest, too";
  EXPECT_EQ(ended({'a'}, {.max_tokens = 1, .at_most = FinishReason::kContextFull}), Ended(FinishReason::kContextFull, "a"));
  EXPECT_EQ(ended({'a', kHello}, {.stop = {"ell"}}), Ended(FinishReason::kStopString, "ah"));
  EXPECT_EQ(ended({'a', kImStart}, {.stop = {"<|im_start|>"}}), Ended(FinishReason::kStopString, "a"));
  EXPECT_EQ(ended({'a', ';', ';', 'Q', ':'}, {.delimiter = ";", .stop = {";;Q:"}}), Ended(FinishReason::kStopString, "a"))
      << "it may begin in an earlier step";
  EXPECT_EQ(ended({'a', ';', ';', 'Q', kImEnd}, {.delimiter = ";", .stop = {";;Q:"}}), Ended(FinishReason::kEndToken, "a;;Q"))
      << "what might have been one is shown";
}

TEST(StepText, TextTakenByAStopStringFromEarlierStepsIsInNoStep) {
  const StepTextOptions options = {.delimiter = ";", .stop = {"b;c"}};
  StepText text(SmallTokenizer(), options);
  for (const TokenId token : {'a', 'b', ';'}) text.Add(token);
  EXPECT_EQ(text.step(), "ab;");
  text.BeginStep();
  text.Add('c');
  EXPECT_TRUE(text.ended());
  EXPECT_EQ(text.text(), "a");
  EXPECT_EQ(text.step(), "");
}

// Steps put together are the text, however it is cut, and each but the last ends as it should.
TEST(StepText, StepsAreTheTextInParts) {
  SeededRandom random(4);
  for (int round = 0; round < 200; ++round) {
    const StepTextOptions options = {.delimiter = round % 2 == 0 ? "l" : "us", .max_step_tokens = 1 + round % 7};
    std::vector<TokenId> tokens;
    std::string whole;
    for (int i = 0; i < 40; ++i) {
      const TokenId pieces[] = {kHe, kLl, kHell, kHello, kSpaceHello, kUs, 'l', 'u', 's', 'x'};
      tokens.push_back(pieces[random.Below(10)]);
      whole += SmallTokenizer().Piece(tokens.back());
    }
    std::string together;
    const Steps steps = StepsOf(tokens, options);
    for (const std::string& step : steps) together += step;
    EXPECT_EQ(whole.substr(0, together.size()), together);
    EXPECT_LT(whole.size() - together.size(), 5u) << "less than a token: its rest";
    EXPECT_GT(steps.size(), 40u / 7);
  }
}

}  // namespace
}  // namespace tessera
