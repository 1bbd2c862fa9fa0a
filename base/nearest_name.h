// Finds what a mistyped name was meant to be, for messages such as "unknown flag --tempature: did you mean --temperature?".
//
//   std::string meant = NearestName("tempature", {"temperature", "top_k"});    // "temperature"; empty if nothing is near
//   std::string hint = DidYouMean("tempature", {"temperature", "top_k"});      // "; did you mean temperature?"
//
// Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// The number of edits that make one name from the other: a byte inserted, removed or changed, or two neighbours swapped (each pair once).
// Cost: a.size() * b.size() steps.
int EditDistance(absl::string_view a, absl::string_view b);

// The name with the fewest edits, the first of several; empty if even that needs more edits than a third of the longer name's length.
std::string NearestName(absl::string_view name, const std::vector<std::string>& names);

// "; did you mean NAME?" for the end of a message, or nothing.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& names);

}  // namespace tessera
