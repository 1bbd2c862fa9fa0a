// Drafts what other texts of the same set went on with where they were as this one is, while all of them are being written.
//
//   SiblingsDrafter drafter;                             // one for each text
//   drafter.Join(history);                               // a SharedHistory, which the texts of a set have in common
//   drafter.Begin(text);                                 // its last token is the first that was written
//   drafter.Propose({.max_nodes = 15}, tree);
//
// What is written is added to the set, by Begin and Commit, whether anything is drafted or not. A text may repeat itself, too: what it
// wrote earlier counts as what others wrote. Without a set it drafts nothing, and costs nothing. Threads: as a Drafter; all texts of a set
// on one.
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
  std::shared_ptr<SharedHistory> siblings_;   // Null: the text is alone.
  int text_ = 0;                              // Its number there.
};

}  // namespace tessera
