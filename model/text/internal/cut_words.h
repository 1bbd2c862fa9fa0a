// Cuts a piece of text into words: at each match of a pattern (word_patterns.h), or by one of the few rules that no pattern expresses.
//
//   std::vector<absl::string_view> words;
//   CutByPattern<RunOf<In<kNumber>>>("a12b", &words);     // "a", "12", "b"
//
// All take O(n) for n bytes of valid UTF-8. Thread-safe (pure functions).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/model/text/internal/word_patterns.h"

namespace tessera {

// Text between matches is a word, too.
template <typename Pattern>
void CutByPattern(absl::string_view piece, std::vector<absl::string_view>* words) {
  const PlainText text(piece);
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = Pattern::End(text, at);
    if (end == at) {
      at += text.At(at).size;
      continue;
    }
    if (at > done) words->push_back(text.substr(done, at));
    words->push_back(text.substr(at, end));
    done = at = end;
  }
  if (done < text.size()) words->push_back(text.substr(done, text.size()));
}

// \s+$
void CutWhiteEnd(absl::string_view piece, std::vector<absl::string_view>* words);

// Cuts each run of numbers into groups of three, counted from the run's end.
void CutNumbersFromTheEnd(absl::string_view piece, std::vector<absl::string_view>* words);

// \d{1,3}(?=(?:\d{3})*\b): as above for digits, if no word character follows the digits; otherwise the run stays whole.
void CutLoneDigitsFromTheEnd(absl::string_view piece, std::vector<absl::string_view>* words);

// (?=(\d{3})+(?!\d)): cuts before each group of three digits, counted from the end of the run. Nothing is cut behind a run.
void CutBeforeThreeDigits(absl::string_view piece, std::vector<absl::string_view>* words);

}  // namespace tessera
