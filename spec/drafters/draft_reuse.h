// Drafts what was rejected once more, where the model agreed with it after the token that it rejected (draft reuse of sd.npu, equation 3).
//
//   DraftReuse reuse({});
//   reuse.Begin(text);
//   other.Propose(budget, tree);
//   reuse.Propose(budget, tree);        // adds to what others drafted: below the root, and after the end of the likeliest path
//   reuse.Commit(tree, verdict);        // verdict.top: what the model says after the rejected nodes, too
//
// A draft x1 .. xn is rejected at xe, where the model says another token. The model's rows after it hold all the same: the longest run of
// tokens beyond xe that it would have said itself, each after those before it, is kept. The text may get to it in two ways (the
// paper's table 2): a synonym of xe stands in its place, or something was missing before xe, which then comes, too. A third of
// the rejected drafts come back so; the rest was redundant.
//
// Below a CompositeDrafter each drafter starts from the root alone, so there only the first place counts.
//
// A run is drafted for a step at least. It goes once the text has taken it up, when it is too old, and when newer ones are long
// enough together.
#pragma once

#include <deque>
#include <vector>

#include "tessera/spec/drafters/drafter.h"

namespace tessera {

class DraftReuse : public Drafter {
 public:
  struct Options {
    int shortest = 1;      // Tokens of a run that is kept.
    int most_steps = 32;   // That a run is kept.
    int most_tokens = 32;  // In all runs together, and in a step's draft: as in the paper, where 32 rows fill a pass.
  };
  explicit DraftReuse(const Options& options) : options_(options) {}

  absl::string_view name() const override { return "reuse"; }
  DrafterNeeds needs() const override { return {.top_of_rows = 1}; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

  // The most memory of such a drafter, whatever the text.
  static int64_t MostBytes(const Options& options);

 private:
  struct Run {
    TokenId before;               // The token that it followed in its draft.
    bool after_mismatch;          // `before` is xe: that too may come, if something was missing before it.
    int steps = 0;                // Since it was kept.
    std::vector<TokenId> tokens;
  };

  void Keep(const TokenTree& tree, const Verdict& verdict);
  void DropTakenUp(TokenId root, absl::Span<const TokenId> emitted);
  void DropOld();

  const Options options_;
  std::deque<Run> runs_;          // The newest first.
};

}  // namespace tessera
