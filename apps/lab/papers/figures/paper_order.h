// Orders that papers state, judged by predictions: which system is faster, and how quantities grow. Lists the places where an order failed.
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

// An order at one place, and whether the predictions confirm it.
struct PaperOrder {
  std::string claim = {};      // One claim has many places.
  std::string where = {};
  std::string found = {};
  bool holds = false;
  std::string why = {};        // Where the order does not hold: the main part of the time.
};

struct OrderCount { std::string claim = {}; int holds = 0, all = 0; };

// Counts by claim, in the order in which the claims come first.
std::vector<OrderCount> CountOrders(const std::vector<PaperOrder>& orders);

// Writes an array of objects: "claim", "where", "found", "holds", "why".
void WriteOrders(JsonWriter& json, const std::vector<PaperOrder>& orders);

// Returns how often each claim holds; then, if a claim fails somewhere, the places where one fails.
std::vector<ReportTable> OrderTables(const std::vector<PaperOrder>& orders);

}  // namespace tessera
