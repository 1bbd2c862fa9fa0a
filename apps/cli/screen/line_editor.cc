#include "tessera/apps/cli/screen/line_editor.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstring>
#include <cwchar>
#include <utility>

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr wchar_t kReplacement = 0xFFFD;
constexpr int kHistoryLines = 1000;

// The terminal's modes before editing, and during editing: for the functions below, which run on another thread, or in a signal's handler.
termios before, editing;

// Sets the modes. A program in the background must leave the terminal alone: another program owns the terminal.
void SetTerminal(const termios& modes) {
  const pid_t owner = tcgetpgrp(STDIN_FILENO);  // Below 0: nobody owns the terminal.
  if (owner < 0 || owner == getpgrp()) tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}
void LeaveTerminal() { SetTerminal(before); }
void ReturnToTerminal() { SetTerminal(editing); }

absl::Status TerminalError(const char* what) {
  return absl::UnavailableError(absl::StrCat("the terminal: ", what, ": ", std::strerror(errno)));
}

// Opens the terminal to show typed text, since standard error may be a file.
std::FILE* OpenShown(bool quiet) {
  if (quiet) return std::fopen("/dev/null", "we");
  const bool both_ways = (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_RDWR;
  const int terminal = isatty(STDERR_FILENO) == 1 ? STDERR_FILENO : both_ways ? STDIN_FILENO : -1;
  const int file = terminal >= 0 ? fcntl(terminal, F_DUPFD_CLOEXEC, 0) : open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
  return file < 0 ? nullptr : fdopen(file, "w");
}

// Does the same as a terminal's own Ctrl-D.
unsigned char PassOn(EditLine* edit, int) {
  const LineInfo* const line = el_line(edit);
  return line->lastchar == line->buffer ? CC_EOF : CC_NEWLINE;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineEditor>> LineEditor::Open(std::string prompt) {
  std::unique_ptr<LineEditor> editor(new LineEditor(std::move(prompt)));
  RETURN_IF_ERROR(editor->Start());
  return editor;
}

absl::Status LineEditor::Start() {
  if (tcgetattr(STDIN_FILENO, &before) != 0) return TerminalError("tcgetattr");
  quiet_ = prompt_.empty() && (before.c_lflag & ECHO) == 0;
  if ((shown_ = OpenShown(quiet_)) == nullptr) return TerminalError("cannot write to it");
  std::setlocale(LC_CTYPE, "C.UTF-8");  // libedit works with wide characters.
  edit_ = el_init("tessera", stdin, shown_, shown_);
  history_ = history_init();
  if (edit_ == nullptr || history_ == nullptr) return absl::UnavailableError("the terminal: found no way to edit lines on it");
  HistEvent event;
  history(history_, &event, H_SETSIZE, kHistoryLines);
  el_set(edit_, EL_CLIENTDATA, this);
  el_set(edit_, EL_EDITOR, "emacs");
  el_set(edit_, EL_PROMPT_ESC, &LineEditor::Prompt, kEscapeMark);
  el_set(edit_, EL_HIST, history, history_);
  el_set(edit_, EL_GETCFN, &LineEditor::ReadCharacter);
  el_set(edit_, EL_BIND, "^I", "ed-insert", nullptr);  // Text that is pasted may hold tabs.
  if (prompt_.empty()) {
    el_set(edit_, EL_ADDFN, "pass-on", "Passes the line on, or ends the input", &PassOn);
    el_set(edit_, EL_BIND, "^D", "pass-on", nullptr);
  }
  el_set(edit_, EL_PREP_TERM, 1);
  if (tcgetattr(STDIN_FILENO, &editing) != 0) return TerminalError("tcgetattr");
  HearStops(LeaveTerminal, ReturnToTerminal);
  return absl::OkStatus();
}

LineEditor::~LineEditor() {
  HearStops(nullptr, nullptr);
  if (edit_ != nullptr) {
    el_end(edit_);
    LeaveTerminal();
  }
  if (history_ != nullptr) history_end(history_);
  if (shown_ != nullptr) std::fclose(shown_);
}

char* LineEditor::Prompt(EditLine* edit) {
  LineEditor* editor = nullptr;
  el_get(edit, EL_CLIENTDATA, &editor);
  return editor->prompt_.data();
}

absl::StatusOr<bool> LineEditor::Next(std::string* line) {
  status_ = absl::OkStatus();
  line_bytes_ = 0;
  el_resize(edit_);  // The window may have another size by now.
  int count = 0;
  const char* const typed = el_gets(edit_, &count);
  el_set(edit_, EL_PREP_TERM, 1);  // el_gets leaves the terminal in the mode that most programs need, with a limit on lines.
  RETURN_IF_ERROR(status_);
  if (typed == nullptr || count <= 0) return false;
  *line = typed;
  HistEvent event;
  if (!absl::StripAsciiWhitespace(*line).empty()) history(history_, &event, H_ENTER, line->c_str());
  while (!line->empty() && (line->back() == '\n' || line->back() == '\r')) line->pop_back();
  return true;
}

// Reads bytes. Returns false at the end of input.
absl::StatusOr<bool> LineEditor::ReadBytes() {
  while (true) {
    const Wake wake = WaitForInput(STDIN_FILENO);
    if (wake == Wake::kSignal) return absl::CancelledError("standard input: interrupted");
    if (wake == Wake::kInput) break;
    ReturnToTerminal();
    el_set(edit_, EL_REFRESH);
  }
  char bytes[4096];
  const ssize_t count = read(STDIN_FILENO, bytes, sizeof(bytes));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;  // Another process has taken the input.
  if (count < 0) return absl::UnavailableError(absl::StrCat("standard input: ", std::strerror(errno)));
  waiting_.append(bytes, count);
  line_bytes_ += count;
  if (line_bytes_ <= static_cast<size_t>(kLargestPrompt)) return count > 0;
  return absl::ResourceExhaustedError(
      absl::StrCat("standard input: found over ", line_bytes_, " bytes in one line, expected at most ", kLargestPrompt));
}

// Takes a character. Returns false if the waiting bytes are not a whole character, but may become one.
bool LineEditor::TakeCharacter(wchar_t* character, bool at_end) {
  if (waiting_.empty()) return false;
  mbstate_t state = {};
  const size_t bytes = std::mbrtowc(character, waiting_.data(), waiting_.size(), &state);
  if (bytes == static_cast<size_t>(-2) && !at_end) return false;
  const bool valid = bytes < static_cast<size_t>(-2);
  if (!valid) *character = kReplacement;
  waiting_.erase(0, valid ? std::max<size_t>(bytes, 1) : 1);
  return true;
}

int LineEditor::ReadCharacter(EditLine* edit, wchar_t* character) {
  LineEditor* editor = nullptr;
  el_get(edit, EL_CLIENTDATA, &editor);
  bool at_end = false;
  while (!editor->TakeCharacter(character, at_end)) {
    if (at_end) return 0;
    const absl::StatusOr<bool> more = editor->ReadBytes();
    if (!more.ok()) {
      editor->status_ = more.status();
      return 0;
    }
    at_end = !*more;
  }
  return editor->quiet_ && *character == before.c_cc[VEOF] ? 0 : 1;  // libedit binds no keys where libedit shows nothing.
}

}  // namespace tessera
