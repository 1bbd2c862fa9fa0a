// Words in place of a dialogue's contents, to find out which contents a chat template writes.
//
//   ProbeWord(7);                                  // "tessera-7-probe"
//   FoundProbes("a tessera-1-probe", 2).words;     // {false, true}
//
// Words are in lower case, since some templates change the case of a content. Thread-safe (no state).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

std::string ProbeWord(size_t number);
std::string ProbeKey(size_t number);   // A key next to a word: the key appears if a list of parts is printed as a list.

// The words and keys in a text, by number. One pass over the text finds all words, since there may be as many words as messages.
struct FoundProbes {
  // text: in lower case. count: of numbers; words of other numbers are ignored.
  FoundProbes(absl::string_view text, size_t count);

  std::vector<bool> words, keys;
};

}  // namespace tessera
