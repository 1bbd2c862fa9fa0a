#include "tessera/spec/replay.h"

#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/spec/verify.h"

namespace tessera {

Replayed& Replayed::operator+=(const Replayed& other) {
  tokens += other.tokens;
  passes += other.passes;
  rows += other.rows;
  return *this;
}

absl::StatusOr<Replayed> Replay(Drafter& drafter, absl::Span<const TokenId> prompt, absl::Span<const TokenId> output,
                                const DraftBudget& budget) {
  Replayed replayed;
  if (output.empty()) return replayed;
  std::vector<TokenId> text(prompt.begin(), prompt.end());
  text.push_back(output[0]);
  drafter.Begin(text);
  const auto no_logits = [](int node) -> absl::StatusOr<absl::Span<const float>> { return absl::Span<const float>(); };
  for (size_t next = 1; next < output.size();) {
    TokenTree tree(output[next - 1]);
    RETURN_IF_ERROR(drafter.Propose(budget, tree));
    Verdict verdict;
    const auto recorded = [&](absl::Span<const float>) -> absl::StatusOr<Choice> {
      ++next;
      return Choice{output[next - 1], /*last=*/next == output.size()};
    };
    RETURN_IF_ERROR(Verify(tree, no_logits, recorded, verdict));
    drafter.Commit(tree, verdict);
    replayed += {.tokens = static_cast<int64_t>(verdict.emitted.size()), .passes = 1, .rows = tree.size()};
  }
  return replayed;
}

}  // namespace tessera
