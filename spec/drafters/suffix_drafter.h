// Drafts the tokens that followed the longest known end of the sequence: an earlier place in the sequence, or a finished answer (history).
//
//   SuffixDrafter drafter({.history = store});           // or {}: of the text alone
//   drafter.Begin(text);
//   drafter.Propose({.max_nodes = 15}, tree);            // the likeliest continuation as a path, others as branches
//
// The sequence and the history are asked together (followers_tree.h). Drafted tokens count as text, so a draft may go round a loop. If a
// sequence is longer than max_tokens, its older half is forgotten at once.
// Threads: as a Drafter; the history may be shared.
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
    int max_tokens = 1 << 15;                      // Kept of the sequence, at most SuffixAutomaton::kMostBytesPerToken each.
  };
  explicit SuffixDrafter(const Options& options);

  absl::string_view name() const override { return "suffix"; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;   // Without the history, which others share.

 private:
  void Append(absl::Span<const TokenId> tokens);
  // Catches up with the sequence in a history, which may have begun anew since.
  void FollowHistory(const SuffixAutomaton& history, int64_t generation);

  const Options options_;
  SuffixAutomaton text_;
  SuffixAutomaton::Cursor in_history_;
  int64_t generation_ = -1;      // The history's generation for in_history_.
  int followed_ = 0;             // Tokens of the sequence that in_history_ has seen.
};

}  // namespace tessera
