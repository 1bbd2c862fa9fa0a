// tests/terminal_test.py tests what a person sees; this, that it can be used alone.
#include "tessera/apps/cli/screen/line_editor.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <glog/logging.h>
#include <gtest/gtest.h>

#include "tessera/apps/cli/interrupt.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::StatusOr<std::string> Example() {
  ASSIGN_OR_RETURN(const std::unique_ptr<LineEditor> editor, LineEditor::Open("> "));
  std::string line;
  ASSIGN_OR_RETURN(const bool more, editor->Next(&line));
  return more ? line : "end";
}

// What the example reads of what is typed, in a process of its own.
std::string Typed(const std::string& keys) {
  int master, slave, result[2];
  CHECK_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  CHECK_EQ(pipe(result), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("TERM", "dumb", 1);
    dup2(slave, STDIN_FILENO);
    dup2(slave, STDERR_FILENO);
    EndOnSignals(ReaderGone::kEndsAtOnce);
    const absl::StatusOr<std::string> line = Example();
    const std::string text = line.ok() ? *line : line.status().ToString();
    const ssize_t written = write(result[1], text.data(), text.size());
    _exit(written < 0);
  }
  close(result[1]);
  for (char shown = 0; shown != '>' && read(master, &shown, 1) == 1;) {}  // A Ctrl-D before the prompt would be the terminal's.
  CHECK_EQ(write(master, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  std::string text(1 << 10, '\0');
  text.resize(std::max<ssize_t>(0, read(result[0], text.data(), text.size())));
  for (int file : {master, slave, result[0]}) close(file);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(LineEditor, HeaderExample) {
  EXPECT_EQ(Typed("hello\n"), "hello");
  EXPECT_EQ(Typed("größe \xff\t\xe2\x82|\r"), "größe \xEF\xBF\xBD\t\xEF\xBF\xBD\xEF\xBF\xBD|") << "bytes that are no UTF-8";
  EXPECT_EQ(Typed("\x04"), "end");
}

}  // namespace
}  // namespace tessera
