// The draft by which rules are worked out by hand, after the root 0:
//
//   0 -+- 1 (0.6) -+- 3 (0.5: 0.30) --- 7 (0.8: 0.24)       in brackets: the probability, and that of the path
//      |           '- 4 (0.4: 0.24)
//      '- 2 (0.35) -- 5 (0.9: 0.315)
//                  '- 6 (0.05: 0.0175)
#pragma once

#include <vector>

#include "tessera/spec/trees/draft_pool.h"
#include "tessera/tests/fakes/table_expander.h"

namespace tessera {

inline DraftDistribution WorkedDistribution() {
  return AfterToken({{0, {{1, 0.6f}, {2, 0.35f}}}, {1, {{3, 0.5f}, {4, 0.4f}}}, {2, {{5, 0.9f}, {6, 0.05f}}}, {3, {{7, 0.8f}}}});
}

// Begins a text that is the root alone.
class WorkedDraft {
 public:
  explicit WorkedDraft(const TableExpander::Times& times = {}) : expander(WorkedDistribution(), times), pool(0, expander, {}) {
    CHECK(expander.Begin({0}).ok());
  }
  std::vector<TokenId> TokensOf(const std::vector<int>& nodes) const {
    std::vector<TokenId> tokens;
    for (const int node : nodes) tokens.push_back(pool.tree()[node].token);
    return tokens;
  }

  TableExpander expander;
  DraftPool pool;
};

}  // namespace tessera
