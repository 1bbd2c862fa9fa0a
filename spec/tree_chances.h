// What the nodes of a tree of several drafters are worth, against what is said of them.
//
//   TreeChances chances;
//   const TokenTree tree = chances.Of(proposal);      // the same nodes; none is more probable than such nodes proved to be
//   chances.Learn(proposal, verdict.emitted);         // once the text is known
//
// Each drafter's estimates are measured already (composite_drafter.h). But of several estimates for a node the largest stays, and the
// largest of several uncertain numbers is too large. So the estimates that stayed are measured once more, all drafters together. They are
// only ever lowered. Depends on what was learnt alone. Thread-compatible.
#pragma once

#include "absl/types/span.h"
#include "tessera/spec/acceptance.h"
#include "tessera/spec/token_tree.h"

namespace tessera {

class TreeChances {
 public:
  TokenTree Of(const TokenTree& proposal) const;

  // `proposal` is as Of was given it; `emitted` is the text after its root. What was not verified teaches, too.
  void Learn(const TokenTree& proposal, absl::Span<const TokenId> emitted);

 private:
  Acceptance acceptance_;
};

}  // namespace tessera
