// Finds the last box of LaTeX in a text that a model wrote.
//
//   LastBoxed("Thus \\boxed{1}, no, \\boxed{\\frac{14}{3}}.");            // "\\frac{14}{3}"
//   LastBoxed("It is \\boxed 7$.");                                     // "7"
//
// Thread-safe (a pure function).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the text in the last \boxed{...}, or behind the last "\boxed ", up to a dollar sign or the end of its line. A box that is not
// closed does not count. Without any \boxed, the same of \fbox. Adds to `steps` the number of bytes that were looked at: at most some for
// each byte of the text, however many boxes stay open.
std::optional<std::string> LastBoxed(absl::string_view text, int64_t* steps = nullptr);

}  // namespace tessera
