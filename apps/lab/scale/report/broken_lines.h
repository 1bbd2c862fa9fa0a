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

// Returns at least one line, each of at most `most` characters, except for longer words. A text that fits stays one unchanged line.
// Otherwise the space at a break is left out.
std::vector<std::string> BrokenLines(absl::string_view text, size_t most);

}  // namespace tessera
