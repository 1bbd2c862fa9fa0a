// How a text begins, for a cell of a table: at most 60 bytes of it in one line.
//
//   TextBeginning("She makes 9 * 2 = 18.\n\nSo");                    // "She makes 9 * 2 = 18.\n\nSo", with \n for each line break
//
// Pure function.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Whole characters, escaped as Printable has it (base/quoted.h); what is left out is "...".
std::string TextBeginning(absl::string_view text);

}  // namespace tessera
