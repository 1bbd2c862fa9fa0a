// Finds a text in another in time that grows with their sizes alone, whatever they hold.
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

  // The first place at or behind `from`. Nothing is found everywhere. REQUIRES: not from_end; from <= text.size().
  size_t First(absl::string_view text, size_t from = 0) const;
  // The last place. REQUIRES: from_end.
  size_t Last(absl::string_view text) const;

 private:
  bool Feed(char c, size_t& matched) const;  // True: all of it has matched.

  std::string wanted_;           // Backwards, if from_end.
  std::vector<size_t> borders_;  // For each beginning of it, the size of the longest that it begins and ends with.
};

}  // namespace tessera::jinja
