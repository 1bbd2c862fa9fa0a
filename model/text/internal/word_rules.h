// The rules by which models cut text into words before byte pair encoding, by the names that files give them.
//
//   const WordRule* rule = FindWordRule("smollm");       // null: there is no rule of that name
//   std::vector<absl::string_view> words;
//   for (CutWords* cut : rule->cuts) ...                 // each cuts the pieces that the one before has left; PreTokenizer does it
//
// Each is written as the model's own tokenizer.json has it. The names are those of GGUF files. Thread-safe (constant data).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

// Appends the words of a piece of valid UTF-8, as views of it, none of them empty.
using CutWords = void(absl::string_view piece, std::vector<absl::string_view>* words);

struct WordRule {
  absl::Span<CutWords* const> cuts;
  bool normalizes = false;           // To form C, before the text is cut.
  bool keeps_known_words = false;    // A word that is in the vocabulary is one token, whatever the merges would make of it.
  bool adds_bos_by_default = false;  // Where the file does not say.
};

const WordRule* FindWordRule(absl::string_view name);
std::string WordRuleNames();  // All, in alphabetical order, with commas between.

}  // namespace tessera
