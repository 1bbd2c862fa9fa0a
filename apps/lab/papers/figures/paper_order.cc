#include "tessera/apps/lab/papers/figures/paper_order.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/figures/shown_tables.h"

namespace tessera {

std::vector<OrderCount> CountOrders(const std::vector<PaperOrder>& orders) {
  std::vector<OrderCount> counts;
  for (const PaperOrder& order : orders) {
    auto count = std::find_if(counts.begin(), counts.end(), [&](const OrderCount& known) { return known.claim == order.claim; });
    if (count == counts.end()) count = counts.insert(counts.end(), OrderCount{order.claim});
    count->holds += order.holds ? 1 : 0;
    ++count->all;
  }
  return counts;
}

void WriteOrders(JsonWriter& json, const std::vector<PaperOrder>& orders) {
  json.BeginArray();
  for (const PaperOrder& order : orders) {
    json.BeginObject().Key("claim").String(order.claim).Key("where").String(order.where).Key("found").String(order.found);
    json.Key("holds").Bool(order.holds).Key("why").String(order.why).EndObject();
  }
  json.EndArray();
}

std::vector<ReportTable> OrderTables(const std::vector<PaperOrder>& orders) {
  ReportTable claims = {.title = "What the papers say about orders, and where it came out",
                        .columns = {"claim", "holds in", "of"},
                        .name = kOrdersTable};
  ReportTable broken = {.title = "Where it did not, and why",
                        .columns = {"claim", "where", "found", "why"},
                        .texts = 4,
                        .name = "broken_orders"};
  for (const OrderCount& count : CountOrders(orders)) {
    claims.rows.push_back({count.claim, absl::StrCat(count.holds), absl::StrCat(count.all)});
  }
  for (const PaperOrder& order : orders) {
    if (!order.holds) broken.rows.push_back({order.claim, order.where, order.found, order.why});
  }
  std::vector<ReportTable> tables = {std::move(claims)};
  if (!broken.rows.empty()) tables.push_back(std::move(broken));
  return tables;
}

}  // namespace tessera
