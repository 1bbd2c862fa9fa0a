// A text broken into lines at spaces.
//
//   BrokenLines("a pass of one row", 9);                     // "a pass of", "one row"
//
// Pure function.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Lines of at most so many characters, but for words that are longer; at least one line. A text that fits is one line as it is; else the
// space at a break is left out.
std::vector<std::string> BrokenLines(absl::string_view text, size_t most);

}  // namespace tessera
