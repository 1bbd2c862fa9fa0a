// Drafts rejected tokens once more, where the model agreed with the draft after the rejected token (draft reuse of sd.npu, equation 3).
//
//   DraftReuse reuse({});
//   reuse.Begin(text);
//   other.Propose(budget, tree);
//   reuse.Propose(budget, tree);        // adds to what others drafted: below the root, and after the end of the likeliest path
//   reuse.Commit(tree, verdict);        // verdict.top: what the model says after the rejected nodes, too
//
// A draft x1 .. xn is rejected at xe, where the model says another token. The model's rows after xe are still valid. The drafter keeps the
// longest run of tokens after xe that the model itself would have said, each after the tokens before. The sequence may come to the run in
// two ways (the paper's table 2): a synonym of xe replaces xe, or something was missing before xe, and xe comes, too. A third of the
// rejected drafts come back so; the rest was redundant.
//
// Below a CompositeDrafter each drafter starts from the root alone, so there only the place below the root counts.
//
// A run is drafted for at least one step. A run is dropped once the sequence has taken up the run, when the run is too old, or when newer
// runs are long enough together.
#pragma once

#include <deque>
#include <vector>

#include "tessera/spec/drafters/drafter.h"

namespace tessera {

class DraftReuse : public Drafter {
 public:
  struct Options {
    int shortest = 1;      // Fewest tokens of a kept run.
    int most_steps = 32;   // Steps that a run is kept.
    int most_tokens = 32;  // In all runs together, and in a step's draft: as in the paper, where 32 rows fill a pass.
  };
  explicit DraftReuse(const Options& options) : options_(options) {}

  absl::string_view name() const override { return "reuse"; }
  DrafterNeeds needs() const override { return {.top_of_rows = 1}; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

  // The most memory of such a drafter, for any text.
  static int64_t MostBytes(const Options& options);

 private:
  struct Run {
    TokenId before;               // The token before the run in the run's draft.
    bool after_mismatch;          // `before` is xe: xe may come, too, if something was missing before xe.
    int steps = 0;                // Since the run was kept.
    std::vector<TokenId> tokens;
  };

  void Keep(const TokenTree& tree, const Verdict& verdict);
  void DropTakenUp(TokenId root, absl::Span<const TokenId> emitted);
  void DropOld();

  const Options options_;
  std::deque<Run> runs_;          // The newest first.
};

}  // namespace tessera
