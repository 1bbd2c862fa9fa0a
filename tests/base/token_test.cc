#include "tessera/base/token.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(Token, HeaderExample) {
  std::vector<TokenId> tokens = {1, 15043, 3186};
  EXPECT_EQ(tokens.back(), 3186);
}

}  // namespace
}  // namespace tessera
