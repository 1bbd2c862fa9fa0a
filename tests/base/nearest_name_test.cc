#include "tessera/base/nearest_name.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(NearestName, HeaderExample) {
  std::string meant = NearestName("tempature", {"temperature", "top_k"});
  std::string hint = DidYouMean("tempature", {"temperature", "top_k"});
  EXPECT_EQ(hint, "; did you mean temperature?");
  EXPECT_EQ(DidYouMean("zebra", {"temperature", "top_k"}), "");
  EXPECT_EQ(meant, "temperature");
}

TEST(NearestName, NothingIsFoundWhereNothingIsNear) {
  EXPECT_EQ(NearestName("zebra", {"temperature", "top_k"}), "");
  EXPECT_EQ(NearestName("temperature", {}), "");
  EXPECT_EQ(NearestName("", {"a", "model"}), "");
  EXPECT_EQ(NearestName("top", {"model"}), "");
}

TEST(NearestName, TheFewestEditsWinAndTheFirstOfEquals) {
  EXPECT_EQ(NearestName("top_q", {"top_pp", "top_k", "top_p"}), "top_k");
  EXPECT_EQ(NearestName("modle", {"mode", "model"}), "mode");  // One left out (l), or one swap: the first.
  EXPECT_EQ(NearestName("seed", {"seeds", "seed"}), "seed");
}

TEST(EditDistance, CountsInsertionsDeletionsChangesAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("modle", "model"), 1);
  EXPECT_EQ(EditDistance("ab", "ba"), 1);
  EXPECT_EQ(EditDistance("ca", "abc"), 3);  // A swapped pair is not edited again.
  EXPECT_EQ(EditDistance("thread", "threads"), 1);
}

}  // namespace
}  // namespace tessera
