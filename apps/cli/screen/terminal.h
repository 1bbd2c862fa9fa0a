// The width and the colours of the terminal that a person uses.
//
//   const Colours colours(STDOUT_FILENO);
//   WriteOutput(colours.Answer("Paris is the capital of France."));      // in colour, if the terminal has colours
//   WordWrap wrap(TerminalColumns(STDOUT_FILENO));
//   WriteNote("The dialogue is forgotten.");                              // to standard error
//
// Each text that has a colour ends with the terminal's own colour: a program that is stopped in between leaves no colour behind.
// Thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns the terminal's columns at this moment, or 80 where the system does not know them.
int TerminalColumns(int file);

// Returns whether `file` is a terminal with colours: TERM is set and not "dumb", NO_COLOR is unset or empty (https://no-color.org).
bool HasColours(int file);

// Puts colours around texts, or returns them unchanged where there are no colours.
class Colours {
 public:
  explicit Colours(int file) : on_(HasColours(file)) {}

  std::string Answer(absl::string_view text) const { return Within("\x1b[36m", text); }   // Cyan.
  std::string Note(absl::string_view text) const { return Within("\x1b[2m", text); }      // Faint.
  std::string Problem(absl::string_view text) const { return Within("\x1b[31m", text); }  // Red.
  // Returns a prompt for LineEditor: bold except for the last character, with the escape sequences marked. REQUIRES: not empty.
  std::string PromptSign(absl::string_view text) const;

 private:
  std::string Within(absl::string_view begin, absl::string_view text) const;

  bool on_;
};

// Writes a text and a line break to standard error: about the dialogue, or an error of one message. At a terminal the lines break at words,
// and the text is faint, or red.
void WriteNote(absl::string_view text);
void WriteProblem(absl::string_view text);

}  // namespace tessera
