// Drafts the continuations of other sequences of the same set, from places where the others had the same last tokens. All of the set's
// sequences are written at the same time.
//
//   SiblingsDrafter drafter;                             // one for each text
//   drafter.Join(history);                               // a SharedHistory, which the texts of a set have in common
//   drafter.Begin(text);                                 // its last token is the first that was written
//   drafter.Propose({.max_nodes = 15}, tree);
//
// Begin and Commit add written tokens to the set, whether anything is drafted or not. A sequence may also repeat itself: its own earlier
// tokens count like tokens of the others. Without a set the drafter drafts nothing, and costs nothing.
// Threads: as a Drafter; all sequences of a set on one thread.
#pragma once

#include <memory>

#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/drafters/history/shared_history.h"

namespace tessera {

inline constexpr char kSiblings[] = "siblings";

class SiblingsDrafter : public Drafter {
 public:
  absl::string_view name() const override { return kSiblings; }
  void Join(std::shared_ptr<SharedHistory> siblings) override;
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override { return static_cast<int64_t>(sizeof(*this)); }   // Without the set, which others share.

 private:
  std::shared_ptr<SharedHistory> siblings_;   // Null: the sequence is alone.
  int text_ = 0;                              // The sequence's number in the set.
};

}  // namespace tessera
