// Why a draft was rejected, as sd.npu's table 2 has it (sd.npu (longer version), section 3.4): the text left it for a while, went around a
// part of it, or left it for good.
//
//   CaseOf({5, 6, 7}, {5, 6, 7, 8});               // kNone: all of it came
//   CaseOf({5, 6, 7}, {5, 1, 6, 7});               // kMissing: 1 was missing, then the draft goes on where it was rejected
//   CaseOf({5, 6, 7, 8}, {5, 1, 7, 8});            // kSynonym: 1 stands for 6, then the draft goes on after it
//   CaseOf({5, 6, 7}, {5, 1, 2, 3});               // kRedundant
//
// The paper's were labelled by hand, by sense. This counts tokens, by one rule: of a draft x_1 .. x_n that is rejected at e, and the text
// z_1 .. that was written in its place, a segment of the draft counts that stands in the text right after z_e .. z_{e+delta}, which are 1
// to kMostInserted tokens. It has kShortestSegment tokens at least, and goes on as long as draft and text agree. The longest decides:
// missing if it begins with x_e, synonym if it begins later in the draft; of equal ones, missing. What a text that ends early no longer
// says is redundant. Thread-safe (pure functions).
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

enum class RejectionCase { kNone, kMissing, kSynonym, kRedundant };   // kNone: it was not rejected.

inline constexpr int kMostInserted = 8;
inline constexpr int kShortestSegment = 2;

// draft: in order, without the root. text: what was written after the root, to its end.
RejectionCase CaseOf(absl::Span<const TokenId> draft, absl::Span<const TokenId> text);

// A tree as one draft: the tokens of its first path, without the root. In Pick's order that is the likeliest one. All of a chain.
std::vector<TokenId> MainPath(const TokenTree& tree);

}  // namespace tessera
