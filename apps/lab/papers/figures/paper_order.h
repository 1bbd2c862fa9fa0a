// Orders that papers state, as predictions have them: which is faster, what grows with what, and where it did not come out.
//
//   orders.push_back({.claim = "figure 10: Lever is the fastest", .where = "8gen3, qwen3-8b", .found = "2.1, 1.9", .holds = true});
//   Print(CountOrders(orders)[0].holds, CountOrders(orders)[0].all);        // of each claim
//   for (const ReportTable& table : OrderTables(orders)) Print(ReportTableText(table));
//
// Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "tessera/apps/lab/scale/report/report_table.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/json_writer.h"

namespace tessera {

// One that came out, or did not.
struct PaperOrder {
  std::string claim = {};      // One claim has many places.
  std::string where = {};
  std::string found = {};
  bool holds = false;
  std::string why = {};        // Where it does not hold: what the time went into.
};

struct OrderCount { std::string claim = {}; int holds = 0, all = 0; };

// By claim, in the order in which they come first.
std::vector<OrderCount> CountOrders(const std::vector<PaperOrder>& orders);

// An array of objects: "claim", "where", "found", "holds", "why".
void WriteOrders(JsonWriter& json, const std::vector<PaperOrder>& orders);

// How often each claim holds; then, if there are some, the places where one does not.
std::vector<ReportTable> OrderTables(const std::vector<PaperOrder>& orders);

}  // namespace tessera
