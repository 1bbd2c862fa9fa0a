#include "tessera/apps/cli/screen/terminal.h"

#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/screen/line_editor.h"
#include "tessera/apps/cli/screen/word_wrap.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/quoted.h"

namespace tessera {
namespace {

constexpr int kUsualColumns = 80;
constexpr absl::string_view kEnd = "\x1b[0m";

absl::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string LinesForPerson(absl::string_view message) {
  const std::string text = Printable(message);
  if (isatty(STDERR_FILENO) != 1) return text;
  WordWrap wrap(TerminalColumns(STDERR_FILENO));
  const std::string begin = wrap.Add(text);
  return begin + wrap.Finish();
}

}  // namespace

int TerminalColumns(int file) {
  winsize size = {};
  return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

bool HasColours(int file) {
  const absl::string_view terminal = Variable("TERM");
  return isatty(file) == 1 && !terminal.empty() && terminal != "dumb" && Variable("NO_COLOR").empty();
}

std::string Colours::PromptSign(absl::string_view text) const {
  if (!on_) return std::string(text);
  const std::string mark(1, LineEditor::kEscapeMark);
  const size_t last = text.size() - 1;   // libedit writes a sequence with the next character.
  return absl::StrCat(mark, "\x1b[1m", mark, text.substr(0, last), mark, kEnd, mark, text.substr(last));
}

void WriteNote(absl::string_view text) {
  WriteError(absl::StrCat(Colours(STDERR_FILENO).Note(LinesForPerson(text)), "\n"));
}

void WriteProblem(absl::string_view text) {
  WriteError(absl::StrCat(Colours(STDERR_FILENO).Problem(LinesForPerson(text)), "\n"));
}

std::string Colours::Within(absl::string_view begin, absl::string_view text) const {
  return on_ && !text.empty() ? absl::StrCat(begin, text, kEnd) : std::string(text);
}

}  // namespace tessera
