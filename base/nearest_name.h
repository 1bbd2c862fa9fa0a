// Finds the intended name of a mistyped name, for messages such as "unknown flag --tempature: did you mean --temperature?".
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

// Returns the number of edits that turn one name into the other. An edit inserts, removes or changes a byte, or swaps two neighbours (each
// pair once).
// Costs a.size() * b.size() steps.
int EditDistance(absl::string_view a, absl::string_view b);

// Returns the name with the fewest edits, the first of several. Empty if even this name needs more edits than a third of the longer name's
// length.
std::string NearestName(absl::string_view name, const std::vector<std::string>& names);

// Returns "; did you mean NAME?" for the end of a message, or an empty string.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& names);

}  // namespace tessera
