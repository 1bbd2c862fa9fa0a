// Finds a text in another text in time that grows with the sizes alone, for any contents.
//
//   const Search search("</think>");
//   for (size_t at = 0; (at = search.First(text, at)) != Search::kNowhere; at += search.size()) Use(at);
//
// The standard library's search takes the product of the sizes for some texts, and texts come from outside. Thread-safe: nothing changes
// after construction.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera::jinja {

class Search {
 public:
  static constexpr size_t kNowhere = absl::string_view::npos;

  explicit Search(absl::string_view wanted, bool from_end = false);
  size_t size() const { return wanted_.size(); }

  // Returns the first match at or behind `from`. An empty `wanted` matches everywhere. REQUIRES: not from_end; from <= text.size().
  size_t First(absl::string_view text, size_t from = 0) const;
  // Returns the last match. REQUIRES: from_end.
  size_t Last(absl::string_view text) const;

 private:
  bool Feed(char c, size_t& matched) const;  // True: the whole text has matched.

  std::string wanted_;           // Reversed, if from_end.
  std::vector<size_t> borders_;  // For each prefix of wanted_: the size of the longest proper prefix that is also a suffix.
};

}  // namespace tessera::jinja
