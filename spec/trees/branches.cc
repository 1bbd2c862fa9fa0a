#include "tessera/spec/trees/branches.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/quoted.h"

namespace tessera {
namespace {

bool CanGrow(Branches branches, int64_t most_drafts) {
  for (int& children : branches) {
    ++children;
    if (DraftsOf(branches) <= most_drafts) return true;
    --children;
  }
  return false;
}

// Appends all of this length that begin with `begun`.
void AddAll(const Branches& begun, size_t length, int64_t most_drafts, std::vector<Branches>& all) {
  if (begun.size() == length) {
    if (!CanGrow(begun, most_drafts)) all.push_back(begun);
    return;
  }
  Branches longer = begun, least;
  longer.push_back(0);
  while (true) {
    ++longer.back();
    least = longer;
    least.resize(length, 1);
    if (DraftsOf(least) > most_drafts) return;
    AddAll(longer, length, most_drafts, all);
  }
}

}  // namespace

std::string BranchesText(absl::Span<const int> branches) { return absl::StrJoin(branches, ","); }

absl::StatusOr<Branches> ParseBranches(absl::string_view text, int64_t most_rows) {
  const auto wrong = [text](const auto&... expected) {
    return absl::InvalidArgumentError(absl::StrCat("branches: found ", Quoted(text), ", expected ", expected...));
  };
  Branches branches;
  for (const absl::string_view number : absl::StrSplit(text, ',')) {
    int children = 0;
    if (branches.size() == kMostBranches || !absl::SimpleAtoi(number, &children) || children < 1 || children > kMostChildren) {
      return wrong("1 to ", kMostBranches, " numbers of 1 to ", kMostChildren, " with commas between, such as 3,2");
    }
    branches.push_back(children);
  }
  if (const int64_t rows = RowsOf(branches); rows > most_rows) {
    return wrong("at most ", most_rows, " rows: the root and ", DraftsOf(branches), " drafts, each with ", branches.size(),
                 branches.size() == 1 ? " forecast, are " : " forecasts, are ", rows);
  }
  return branches;
}

int64_t DraftsOf(absl::Span<const int> branches) {
  int64_t level = 1, drafts = 0;
  for (const int children : branches) drafts += level *= children;
  return drafts;
}

int64_t RowsOf(absl::Span<const int> branches) { return (1 + DraftsOf(branches)) * (1 + static_cast<int64_t>(branches.size())); }

int AcceptedOf(absl::Span<const int> branches, absl::Span<const int> ranks) {
  size_t depth = 0;
  while (depth < branches.size() && ranks[depth] < branches[depth]) ++depth;
  return static_cast<int>(depth);
}

std::vector<Branches> AllBranches(int forecasts, int rows) {
  std::vector<Branches> all;
  for (int length = 1; length <= forecasts && length < rows; ++length) {
    AddAll({}, static_cast<size_t>(length), rows / (1 + length) - 1, all);
  }
  return all;
}

}  // namespace tessera
