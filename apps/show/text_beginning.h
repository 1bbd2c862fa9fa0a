// The prefix of a text for a cell of a table: at most 60 bytes in one line.
//
//   TextBeginning("She makes 9 * 2 = 18.\n\nSo");                    // "She makes 9 * 2 = 18.\n\nSo", with \n for each line break
//
// Pure function.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns whole characters, escaped as by Printable (base/quoted.h); "..." stands for the rest.
std::string TextBeginning(absl::string_view text);

}  // namespace tessera
