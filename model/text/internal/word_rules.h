// The rules that cut text into words before byte pair encoding, by the rules' names in files.
//
//   const WordRule* rule = FindWordRule("smollm");       // null: there is no rule of that name
//   std::vector<absl::string_view> words;
//   for (CutWords* cut : rule->cuts) ...                 // each cuts the pieces that the one before has left; PreTokenizer does it
//
// Each rule is the rule of the model's own tokenizer.json. The names are those of GGUF files. Thread-safe (constant data).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

// Appends the words of a piece of valid UTF-8 as views of the piece, none empty.
using CutWords = void(absl::string_view piece, std::vector<absl::string_view>* words);

struct WordRule {
  absl::Span<CutWords* const> cuts;
  bool normalizes = false;           // To form C, before the cut.
  bool keeps_known_words = false;    // A word in the vocabulary is one token, regardless of the merges.
  bool adds_bos_by_default = false;  // If the file has no value.
};

const WordRule* FindWordRule(absl::string_view name);
std::string WordRuleNames();  // Returns all names, in alphabetical order, separated by commas.

}  // namespace tessera
