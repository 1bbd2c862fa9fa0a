#include "tessera/base/text_hash.h"

#include <string>
#include <unordered_map>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(TextHash, HeaderExample) {
  std::unordered_map<std::string, size_t, TextHash, TextEqual> places;
  places.emplace("token_embd.weight", 0);
  const auto found = places.find(absl::string_view("token_embd.weight"));
  ASSERT_NE(found, places.end());
  EXPECT_EQ(found->second, 0u);
}

TEST(TextHash, EqualTextsInDifferentTypesHaveOneHash) {
  const std::string text = "blk.0.attn_q.weight";
  EXPECT_EQ(TextHash()(text), TextHash()(absl::string_view(text)));
  EXPECT_EQ(TextHash()(text), TextHash()("blk.0.attn_q.weight"));
}

TEST(TextHash, TextsThatDifferAreNotEqual) {
  EXPECT_FALSE(TextEqual()("a", "b"));
  EXPECT_FALSE(TextEqual()("a", absl::string_view("a\0", 2)));
  EXPECT_NE(TextHash()("blk.0"), TextHash()("blk.1"));
}

}  // namespace
}  // namespace tessera
