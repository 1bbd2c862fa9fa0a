// Classifies a rejected draft as table 2 of sd.npu's longer version does (section 3.4). The text left the draft for a while, went around a
// part, or left the draft for good.
//
//   CaseOf({5, 6, 7}, {5, 6, 7, 8});               // kNone: all of it came
//   CaseOf({5, 6, 7}, {5, 1, 6, 7});               // kMissing: 1 was missing, then the draft goes on where it was rejected
//   CaseOf({5, 6, 7, 8}, {5, 1, 7, 8});            // kSynonym: 1 stands for 6, then the draft goes on after it
//   CaseOf({5, 6, 7}, {5, 1, 2, 3});               // kRedundant
//
// The paper's cases were labelled by hand, by sense. This file counts tokens, by one rule. A draft x_1 .. x_n is rejected at e, and the
// text z_1 .. was written instead. A segment of the draft counts if the text has the segment right after z_e .. z_{e+delta}, which are 1 to
// kMostInserted tokens. A segment has at least kShortestSegment tokens, and goes on as long as draft and text agree. The longest segment
// decides: missing if it begins with x_e, synonym if it begins later in the draft; of equal ones, missing. If the text ends before such a
// segment is written, the draft is redundant. Thread-safe (pure functions).
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

enum class RejectionCase { kNone, kMissing, kSynonym, kRedundant };   // kNone: the draft was not rejected.

inline constexpr int kMostInserted = 8;
inline constexpr int kShortestSegment = 2;

// draft: in order, without the root. text: the tokens written after the root, to the end.
RejectionCase CaseOf(absl::Span<const TokenId> draft, absl::Span<const TokenId> text);

// Returns the tokens of a tree's first path, without the root, as one draft. In Pick's order this path is the likeliest. A chain counts
// whole.
std::vector<TokenId> MainPath(const TokenTree& tree);

}  // namespace tessera
