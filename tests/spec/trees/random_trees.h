// Trees and costs to choose rows by.
//
//   SeededRandom random(1);
//   const CostProfile costs = Costs(RandomPass(random, /*stepped=*/true), {.leaf = 1e-4});
//   ChooseRows(RandomTree(10, random), costs, {});
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/random.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

struct OtherCosts {
  double leaf = 0, text = 0;
  double head = 0.001, head_64 = 0.064;   // The head's by rows, in a straight line.
};

// A frozen profile of the pass's times by rows from 1 on.
inline CostProfile Costs(const std::vector<double>& pass, const OtherCosts& other = {}) {
  std::vector<std::string> entries;
  for (const double seconds : pass) entries.push_back(absl::StrCat("{\"rows\": ", entries.size() + 1, ", \"seconds\": ", seconds, "}"));
  const std::string text =
      absl::StrCat("{\"version\": 1, \"pass\": [", absl::StrJoin(entries, ","), "], \"leaf_seconds\": ", other.leaf,
                   ", \"text_seconds\": ", other.text, ", \"head\": [{\"rows\": 1, \"seconds\": ", other.head,
                   "}, {\"rows\": 64, \"seconds\": ", other.head_64, "}], \"top_seconds\": 0, \"drafters\": []}");
  const absl::StatusOr<CostProfile> costs = CostProfile::Parse(text, "test");
  EXPECT_TRUE(costs.ok()) << costs.status();
  return *costs;
}

// Times of `rows` rows and fewer; stepped: as if four rows were computed together.
inline std::vector<double> RandomPass(SeededRandom& random, bool stepped, size_t rows = 12) {
  std::vector<double> pass = {0.006};
  while (pass.size() < rows)
    pass.push_back(pass.back() + (stepped && pass.size() % 4 != 0 ? 0 : 1e-5 * static_cast<double>(random.Below(300))));
  return pass;
}

inline TokenTree RandomTree(int nodes, SeededRandom& random) {
  TokenTree tree(0);
  while (tree.size() <= nodes) {
    const int parent = static_cast<int>(random.Below(tree.size()));
    float left = 1;
    for (int node = parent + 1; node < tree.size(); ++node) left -= tree[node].parent == parent ? tree[node].probability : 0;
    const float probability = left * static_cast<float>(1 + random.Below(99)) / 100;
    if (probability > 0) tree.Add(parent, tree.size(), probability);
  }
  return tree;
}

}  // namespace tessera
