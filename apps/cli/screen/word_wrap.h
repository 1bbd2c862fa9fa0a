// Breaks text into lines at words, for a terminal. The text may come in pieces.
//
//   WordWrap wrap(/*columns=*/20);
//   WriteOutput(wrap.Add("The capital of Fra"));                    // "The capital of"
//   WriteOutput(wrap.Add("nce is Paris."));                         // "\nFrance is"
//   WriteOutput(wrap.Finish());                                     // " Paris."
//
// A word is written once it is whole, or once it is longer than a line. The terminal then breaks a long word, and copying the word gives
// the word. Blanks at a break are dropped. Blanks after a line break of the text stay: they may indent code. A wide character (Chinese, for
// example) is a word of its own. Control characters other than line breaks and tabs, and bytes that are not UTF-8, are written as \xNN, so
// that no text can control the terminal. The lines do not depend on the pieces. Thread-compatible.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns the columns of a character on a terminal: 0 (marks that combine with the character before), 1 or 2.
int ColumnsOf(char32_t character);

class WordWrap {
 public:
  // REQUIRES: columns > 0.
  explicit WordWrap(int columns) : columns_(columns) {}

  // Returns the text that can be shown by now.
  std::string Add(absl::string_view text);

  // Returns the rest. The next Add begins a new line.
  std::string Finish();

 private:
  void TakeWaiting(bool at_end);   // at_end: an incomplete character has no rest, and is not UTF-8.
  void AddCharacter(absl::string_view bytes, int columns);
  void AddBlank(char blank);
  void EndWord();
  void Place(absl::string_view word, int columns);

  const int columns_;
  int column_ = 0;            // Where the terminal's cursor is.
  bool passing_ = false;      // The word is longer than a line; characters are written as they come.
  std::string blanks_;        // Between the last word that was written and `word_`.
  std::string word_;          // Not written yet.
  int word_columns_ = 0;
  std::string waiting_;       // The first bytes of a character.
  std::string shown_;
};

}  // namespace tessera
