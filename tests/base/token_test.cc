#include "tessera/base/token.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(Token, HeaderExample) {
  std::vector<TokenId> tokens = {504, 28};
  EXPECT_EQ(tokens.size(), 2u);
}

}  // namespace
}  // namespace tessera
