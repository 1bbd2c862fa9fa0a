// Words that stand in a dialogue in place of its contents, so that it is seen which of them a chat template writes.
//
//   ProbeWord(7);                                  // "tessera-7-probe"
//   FoundProbes("a tessera-1-probe", 2).words;     // {false, true}
//
// Words are in lower case, as some templates change the case of a content. Thread-safe (no state).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

std::string ProbeWord(size_t number);
std::string ProbeKey(size_t number);   // A key beside a word: it comes out where a list of parts is printed as such.

// The words and keys that stand in a text, by number. One pass over the text finds them all, since there may be as many as messages.
struct FoundProbes {
  // text: in lower case. count: of numbers; words of others are passed over.
  FoundProbes(absl::string_view text, size_t count);

  std::vector<bool> words, keys;
};

}  // namespace tessera
