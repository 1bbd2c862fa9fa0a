// Orders of papers: counted by claim, in tables, and as JSON.
#include "tessera/apps/lab/papers/figures/paper_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::vector<PaperOrder> Orders() {
  return {{.claim = "a is faster", .where = "x", .found = "2 against 1", .holds = true},
          {.claim = "b is larger", .where = "x", .found = "1 against 2", .why = "of its size"},
          {.claim = "a is faster", .where = "y", .found = "1 against 2", .why = "of its rows"}};
}

TEST(PaperOrder, HeaderExample) {
  const std::vector<OrderCount> counts = CountOrders(Orders());
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].claim, "a is faster");
  EXPECT_EQ(std::pair(counts[0].holds, counts[0].all), std::pair(1, 2));
  EXPECT_EQ(std::pair(counts[1].holds, counts[1].all), std::pair(0, 1));
  std::string text;
  for (const ReportTable& table : OrderTables(Orders())) text += ReportTableText(table);
  EXPECT_NE(text.find("of its rows"), std::string::npos) << text;
}

TEST(PaperOrder, OrdersThatDoNotHoldAreListedIfAny) {
  std::vector<PaperOrder> orders = Orders();
  EXPECT_EQ(OrderTables(orders).size(), 2u);
  EXPECT_EQ(OrderTables(orders)[1].rows.size(), 2u);
  for (PaperOrder& order : orders) order.holds = true;
  EXPECT_EQ(OrderTables(orders).size(), 1u);
  EXPECT_TRUE(CountOrders({}).empty());
}

TEST(PaperOrder, JsonHasAllOfThem) {
  JsonWriter json;
  WriteOrders(json, Orders());
  const JsonValue array = Must(JsonValue::Parse(std::move(json).Take(), "orders"));
  ASSERT_EQ(array.size(), 3);
  EXPECT_TRUE(Must(array[0].Bool("holds")));
  EXPECT_EQ(Must(array[2].String("why")), "of its rows");
}

}  // namespace
}  // namespace tessera
