#include "tessera/runtime/scale/step_ends.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

// With a token per byte.
std::vector<int> Ends(const std::string& text, const std::string& delimiter) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  return StepEnds(*tokenizer, tokenizer->Encode(text), delimiter);
}

TEST(StepEnds, HeaderExample) {
  EXPECT_EQ(Ends("ab\n\ncd", "\n\n"), std::vector<int>({3, 5}));
}

TEST(StepEnds, ATextWithoutADelimiterIsOneStep) {
  EXPECT_EQ(Ends("abcd", "\n"), std::vector<int>({3}));
  EXPECT_EQ(Ends("ab\ncd", ""), std::vector<int>({4}));
}

TEST(StepEnds, BlankLinesAreNoSteps) {
  EXPECT_EQ(Ends("ab\n\n\ncd\n", "\n"), std::vector<int>({2, 7}));
  EXPECT_EQ(Ends("\n\nab\ncd", "\n"), std::vector<int>({4, 6}));
  EXPECT_EQ(Ends("ab\n  \n", "\n"), std::vector<int>({2}));
  EXPECT_EQ(Ends("\n\n", "\n"), std::vector<int>({1})) << "but there is one";
}

TEST(StepEnds, ADelimiterMayLieAcrossTokensOrWithinOne) {
  // "hello" and "he" are tokens: 'h' 'e' is one, too.
  EXPECT_EQ(Ends("xhelloy", "el"), std::vector<int>({1, 2})) << "the token goes on behind it";
  EXPECT_EQ(Ends("ahxb", "hx"), std::vector<int>({2, 3}));
}

TEST(StepEnds, MarksThatAreNoTextAreNotRead) {
  const std::unique_ptr<Tokenizer> tokenizer = OpenTokenizer(SmallBytePair());
  EXPECT_EQ(StepEnds(*tokenizer, std::vector<TokenId>{'a', '\n', kImEnd}, "\n"), std::vector<int>({1}));
}

}  // namespace
}  // namespace tessera
