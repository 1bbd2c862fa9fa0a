// A tree of the tokens that followed earlier places of the sequence's end, in one or two suffix automata.
//
//   SuffixAutomaton texts({});
//   for (const TokenId token : {1, 2, 3, 4, 1, 2}) texts.Extend(token);
//   DraftFollowers({&texts, texts.Match()}, /*second=*/{}, {.max_nodes = 15}, tree);      // 3 4 1 2 ... below the root 2
//
// How a token's probability is estimated: of the places where the last n tokens stood before, most went on with some token, and the latest
// counts for more. A longer n says more. The probability that n leaves open is asked of the next shorter end, as in prediction by partial
// matching (Cleary, Witten 1984). Both sources are asked together, the longer match first. Drafted tokens count as text, so a draft may go
// round a loop. Nodes are added best first, by the product of the probabilities on the path. No node is deeper than 1 plus 4 times the
// length of the longer match. kSeparator is never drafted. Thread-compatible.
#pragma once

#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/drafters/history/suffix_automaton.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

struct FollowersSource {
  const SuffixAutomaton* texts = nullptr;
  SuffixAutomaton::Cursor place = {};     // The state of the sequence's end in `texts`.
};

// Adds at most budget.max_nodes nodes below the root. second.texts may be null: then there is one source. REQUIRES: first.texts is not
// null.
void DraftFollowers(const FollowersSource& first, const FollowersSource& second, const DraftBudget& budget, TokenTree& tree);

}  // namespace tessera
