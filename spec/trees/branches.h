// Branch configurations of DS2D (paper 004, section 3.5): how many of each forecast's likeliest tokens are drafted.
//
//   ASSIGN_OR_RETURN(const Branches branches, ParseBranches("3,2", /*most_rows=*/32));   // 3 after the root, and 2 after each of these
//   DraftsOf(branches);                                      // 9
//   RowsOf(branches);                                        // 30: the root and the drafts, each with two forecasts
//   AcceptedOf(branches, {2, 0});                            // 2: the tokens that came were third and first of what forecasts said
//   AllBranches(/*forecasts=*/3, /*rows=*/32);               // all that cannot grow within so many rows: (15), (1,8), (2,3), ...
//
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// [depth - 1]: children of each node there. Not empty, each at least 1.
using Branches = absl::InlinedVector<int, 4>;

inline constexpr int kMostBranches = 8, kMostChildren = 64;

// "3,2".
std::string BranchesText(absl::Span<const int> branches);

// InvalidArgument (found, expected) for what is no list of 1 to kMostBranches numbers of 1 to kMostChildren, and for more rows than these.
absl::StatusOr<Branches> ParseBranches(absl::string_view text, int64_t most_rows);

// Nodes below the root of the whole tree.
int64_t DraftsOf(absl::Span<const int> branches);
// Rows of a pass over that tree, in which each node has as many forecasts as there are branches.
int64_t RowsOf(absl::Span<const int> branches);

// How many tokens come true in a row if the token at depth d + 1 is number ranks[d] of what forecast d said, 0 the likeliest.
// REQUIRES: as many ranks as branches, or more.
int AcceptedOf(absl::Span<const int> branches, absl::Span<const int> ranks);

// All with at most so many branches and rows of which no number can grow, short ones first, small numbers first. Empty with fewer than 4
// rows: a draft and its root have a forecast each.
// REQUIRES: 1 <= forecasts, 0 <= rows <= 512.
std::vector<Branches> AllBranches(int forecasts, int rows);

}  // namespace tessera
