// The rule of docs/adding_a_scheduler_rule.md, which links here: which prompts a pass reads, and how much of each.
//
//   const std::vector<StepPart> parts = ShortestPromptsFirst(4).Pieces({100, 8, 0, 30}, 40);   // 4 of the first, all 8, 28 of the last
#pragma once

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "tessera/runtime/scheduler/internal/step_plan.h"

namespace tessera {

class ShortestPromptsFirst {
 public:
  // The oldest prompt gets this many rows of each pass, so that no prompt waits for ever. At least 1.
  explicit ShortestPromptsFirst(int rows_of_oldest) : rows_of_oldest_(rows_of_oldest) {}

  // pending[i] are the unread tokens of text i, the oldest text first; 0: the text is being written. At most `most` rows in all.
  std::vector<StepPart> Pieces(absl::Span<const int> pending, int most) const {
    std::vector<int> rows(pending.size(), 0), order;
    for (size_t i = 0; i < pending.size(); ++i) {
      if (pending[i] > 0) order.push_back(static_cast<int>(i));
    }
    const auto give = [&](int text, int wanted) {
      const int given = std::min({wanted, pending[text] - rows[text], most});
      rows[text] += given;
      most -= given;
    };
    if (!order.empty()) give(order.front(), rows_of_oldest_);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return pending[a] < pending[b]; });
    for (const int text : order) give(text, pending[text]);
    std::vector<StepPart> parts;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] > 0) parts.push_back({.stream = static_cast<int>(i), .chunk = rows[i]});
    }
    return parts;
  }

 private:
  const int rows_of_oldest_;
};

}  // namespace tessera
