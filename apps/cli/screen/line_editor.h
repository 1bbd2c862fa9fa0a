// Reads lines that a person types at a terminal: of any length, edited with the keys of emacs. The arrow keys recall earlier lines.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<LineEditor> editor, LineEditor::Open("> "));
//   std::string line;
//   ASSIGN_OR_RETURN(const bool more, editor->Next(&line));           // Shows "> " first.
//
// With an empty prompt ("") the editor behaves as a terminal that passes lines on. A line is then shown, and edited, only if the terminal
// shows typed characters. Ctrl-D after other characters ends the line without a line break; at the start of a line Ctrl-D is the end of
// input.
//
// By default a terminal passes on at most 4,095 bytes of a line, and drops the rest. So Open sets the terminal to pass on each byte at once
// and to show none. Bytes typed before Next are kept for Next. The terminal's modes are restored when the editor is destroyed, when a
// signal ends the program, and while the program is stopped (Ctrl-Z). When the program continues, the line is drawn again. Ctrl-C stays a
// signal (interrupt.h).
// Threads: one at a time; one editor at a time. REQUIRES: EndOnSignals was called.
#pragma once

#include <histedit.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tessera {

class LineEditor {
 public:
  static constexpr char kEscapeMark = '\1';   // Stands before and after an escape sequence of a prompt, which takes no columns.

  // Opens the editor. Unavailable if the terminal cannot be used. REQUIRES: standard input is a terminal.
  static absl::StatusOr<std::unique_ptr<LineEditor>> Open(std::string prompt);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // Reads the next line in UTF-8, without the line break; returns false at the end of input (Ctrl-D). Bytes that are no UTF-8 become
  // U+FFFD. Cancelled if a signal came; ResourceExhausted for a line that is too long for a prompt.
  absl::StatusOr<bool> Next(std::string* line);
  void SetPrompt(std::string prompt) { prompt_ = std::move(prompt); }   // For later lines. REQUIRES: empty, or not, as before.
  bool has_typed() const { return !waiting_.empty(); }   // Bytes after the last line were read.

 private:
  explicit LineEditor(std::string prompt) : prompt_(std::move(prompt)) {}
  absl::Status Start();
  static char* Prompt(EditLine* edit);
  static int ReadCharacter(EditLine* edit, wchar_t* character);  // For libedit: returns 1, or 0 at the end.
  absl::StatusOr<bool> ReadBytes();
  bool TakeCharacter(wchar_t* character, bool at_end);

  std::string prompt_;
  bool quiet_ = false;             // The terminal shows nothing that is typed, since a program types.
  std::FILE* shown_ = nullptr;     // The terminal, to write to.
  EditLine* edit_ = nullptr;
  History* history_ = nullptr;
  std::string waiting_;            // Bytes that are read, and not yet a character.
  size_t line_bytes_ = 0;          // Typed since the last line.
  absl::Status status_;            // The error that ended the input.
};

}  // namespace tessera
