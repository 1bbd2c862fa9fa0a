#include "tessera/base/token.h"

#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Token, HeaderExample) {
  const std::vector<TokenId> text = {17, 4, 262};
  EXPECT_EQ(text.back(), 262);
}

}  // namespace
}  // namespace tessera
