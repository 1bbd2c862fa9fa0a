// Branch configurations of DS2D (the one-for-all paper, section 3.5): a configuration says how many of each forecast's likeliest tokens are
// drafted.
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

// [depth - 1]: the children of each node at that depth. Not empty; each number is at least 1.
using Branches = absl::InlinedVector<int, 4>;

inline constexpr int kMostBranches = 8, kMostChildren = 64;

// Returns the configuration as text, such as "3,2".
std::string BranchesText(absl::Span<const int> branches);

// Parses a list of 1 to kMostBranches numbers, each 1 to kMostChildren. InvalidArgument (found, expected) for any other text, and for a
// configuration that needs more than `most_rows` rows.
absl::StatusOr<Branches> ParseBranches(absl::string_view text, int64_t most_rows);

// Counts the nodes below the root of the whole tree.
int64_t DraftsOf(absl::Span<const int> branches);
// Counts the rows of a pass over the whole tree. Each node has as many forecasts as there are branches.
int64_t RowsOf(absl::Span<const int> branches);

// Returns how many tokens in a row come true if the token at depth d + 1 has rank ranks[d] in forecast d. Rank 0 is the likeliest.
// REQUIRES: at least as many ranks as branches.
int AcceptedOf(absl::Span<const int> branches, absl::Span<const int> ranks);

// Returns all configurations within `forecasts` branches and `rows` rows in which no number can grow. Short ones come first, then small
// numbers. Empty with fewer than 4 rows: a draft and its root have a forecast each.
// REQUIRES: 1 <= forecasts, 0 <= rows <= 512.
std::vector<Branches> AllBranches(int forecasts, int rows);

}  // namespace tessera
