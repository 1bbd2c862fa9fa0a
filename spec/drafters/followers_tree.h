// A tree of what followed the end of a text where that stood before, in one or two suffix automata.
//
//   SuffixAutomaton texts({});
//   for (const TokenId token : {1, 2, 3, 4, 1, 2}) texts.Extend(token);
//   DraftFollowers({&texts, texts.Match()}, /*second=*/{}, {.max_nodes = 15}, tree);      // 3 4 1 2 ... below the root 2
//
// How a token's probability is estimated: of the places where the last n tokens stood before, most went on with some token, and the
// latest counts for more. The longer n, the more this says; what it leaves open is asked of the next shorter end, as in prediction by
// partial matching (Cleary, Witten 1984). Both sources are asked together, the longer match first. Drafted tokens count as text, so a
// draft may go round a loop. Nodes are added best first, by the product of the probabilities on their path, and none is deeper than 1 + 4
// tokens for each that matched. kSeparator is never drafted. Thread-compatible.
#pragma once

#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/drafters/history/suffix_automaton.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

struct FollowersSource {
  const SuffixAutomaton* texts = nullptr;
  SuffixAutomaton::Cursor place = {};     // Where the text's end stands there.
};

// Adds at most budget.max_nodes nodes below the root. second.texts: null: there is one source. REQUIRES: first.texts is not null.
void DraftFollowers(const FollowersSource& first, const FollowersSource& second, const DraftBudget& budget, TokenTree& tree);

}  // namespace tessera
