// A table of ways to compute a model. Each way is compared with a yardstick by the predictions over a text.
//
//   ComparisonTable table("scheme");
//   table.Add({.name = "int4-tile", .bits_per_weight = 4.5, .weight_error = 0.081, .comparison = comparison});
//   return WriteOutput(FLAGS_json ? table.ToJson() : table.ToString());
//
// Thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/apps/compare/logit_comparison.h"

namespace tessera {

struct ComparedWay {
  std::string name = {};
  std::string yardstick = {};                       // The way that was compared with.
  std::optional<double> bits_per_weight = {};       // The layers' matrices alone.
  std::optional<double> weight_error = {};          // Root mean square, relative to the weights'.
  LogitComparison comparison = {};
};

class ComparisonTable {
 public:
  explicit ComparisonTable(std::string what) : what_(std::move(what)) {}
  void Add(ComparedWay way) { ways_.push_back(std::move(way)); }

  // Returns one line per way, and an explanation of the columns below.
  std::string ToString() const;
  // Returns an array of objects.
  std::string ToJson() const;

 private:
  const std::string what_;   // The first column's header.
  std::vector<ComparedWay> ways_;
};

}  // namespace tessera
