#include "tessera/base/token.h"

#include <gtest/gtest.h>

#include <memory>

#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

TEST(Token, HeaderExample) {
  const std::unique_ptr<Tokenizer> vocabulary = OpenTokenizer(SmallBytePair());
  TokenId token = *vocabulary->eos();
  EXPECT_EQ(token, 262);
}

}  // namespace
}  // namespace tessera
