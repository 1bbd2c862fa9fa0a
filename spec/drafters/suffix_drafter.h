// Drafts what followed the longest end of the text that was seen before: in this text, and in finished ones (history).
//
//   SuffixDrafter drafter({.history = store});           // or {}: of the text alone
//   drafter.Begin(text);
//   drafter.Propose({.max_nodes = 15}, tree);            // the likeliest continuation as a path, others as branches
//
// Text and history are asked together (followers_tree.h). Drafted tokens count as text, so a draft may go round a loop.
// A text longer than max_tokens is forgotten from its beginning, half of it at once. Threads: as a Drafter; the history may be shared.
#pragma once

#include <memory>

#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/spec/drafters/history/suffix_automaton.h"

namespace tessera {

class SuffixDrafter : public Drafter {
 public:
  struct Options {
    std::shared_ptr<const HistoryStore> history = {};   // With the same vocabulary. Null: none.
    int max_tokens = 1 << 15;                      // Kept of the text, at most SuffixAutomaton::kMostBytesPerToken each.
  };
  explicit SuffixDrafter(const Options& options);

  absl::string_view name() const override { return "suffix"; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;   // Without the history, which others share.

 private:
  void Append(absl::Span<const TokenId> tokens);
  // Catches up with the text in a history that may have begun anew since.
  void FollowHistory(const SuffixAutomaton& history, int64_t generation);

  const Options options_;
  SuffixAutomaton text_;
  SuffixAutomaton::Cursor in_history_;
  int64_t generation_ = -1;      // The history's that in_history_ belongs to.
  int followed_ = 0;             // Tokens of the text that in_history_ has seen.
};

}  // namespace tessera
