#include "tessera/base/nearest_name.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {

// Dynamic programming over prefixes: row i holds the distances of a's first i bytes to every prefix of b (optimal string
// alignment). Three rows are enough, since a swap looks back by two.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string NearestName(absl::string_view name, const std::vector<std::string>& names) {
  std::string nearest;
  int fewest = -1;
  for (const std::string& candidate : names) {
    const size_t longer = std::max(name.size(), candidate.size()), shorter = std::min(name.size(), candidate.size());
    if (longer - shorter > longer / 3) continue;  // Too far apart by length alone, and cheap to see.
    const int edits = EditDistance(name, candidate);
    if (edits > static_cast<int>(longer / 3) || (fewest >= 0 && edits >= fewest)) continue;
    nearest = candidate;
    fewest = edits;
  }
  return nearest;
}

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace tessera
