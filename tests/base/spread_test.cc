#include "tessera/base/spread.h"

#include <gtest/gtest.h>

#include "tessera/base/json_writer.h"

namespace tessera {
namespace {

TEST(Spread, HeaderExample) {
  JsonWriter json;
  json.BeginObject();
  Spread spread = SpreadOf({5.1, 5.3, 4.9});
  WriteSpread(json.Key("tokens_per_second"), spread);
  json.EndObject();
  EXPECT_EQ(std::move(json).Take(), R"({"tokens_per_second":{"min":4.9,"median":5.1,"max":5.3}})");
}

TEST(Spread, MedianIsTheMiddle) {
  const Spread odd = SpreadOf({3, 1, 2}), even = SpreadOf({4, 1, 3, 2});
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(even.median, 2.5);
}

TEST(Spread, SumsUpByQuantilesAndTheGeometricMean) {
  EXPECT_EQ(MedianOf({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Quantile({1, 2, 3}, 0.5), 2);
  EXPECT_EQ(Quantile({1, 2, 3}, 1), 3);
  EXPECT_DOUBLE_EQ(GeometricMean({2, 8}), 4);
  EXPECT_EQ(GeometricMean({}), 0);
}

}  // namespace
}  // namespace tessera
