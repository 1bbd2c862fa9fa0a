// The command line of a run as a text that a shell takes back.
#include "tessera/apps/lab/scale/grid/command_text.h"

#include <cstdio>
#include <string>
#include <vector>

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "tessera/apps/cli/flags/flags.h"

namespace tessera {
namespace {

TEST(CommandText, HasTheFlagsThatAreGiven) {
  const std::vector<FlagGroup> groups = {{"Text", {"top", "prompt", "raw"}}};
  const AppInfo info = {.name = "tessera_x", .subcommand = "show", .summary = "", .examples = {}, .groups = groups};
  gflags::FlagSaver saver;
  gflags::SetCommandLineOption("top", "7");
  gflags::SetCommandLineOption("prompt", "a b");
  EXPECT_EQ(CommandText(info), "tessera_x show --top=7 --prompt='a b'");
  gflags::SetCommandLineOption("raw", "true");
  EXPECT_EQ(CommandText(info), "tessera_x show --top=7 --prompt='a b' --raw");
}

std::string Echoed(const std::string& word) {
  FILE* const shell = popen(("printf %s " + word).c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(shell)) != EOF;) text += static_cast<char>(c);
  pclose(shell);
  return text;
}

TEST(CommandText, AShellReadsEachWordAsItsText) {
  for (const std::string text : {"plain/path-1.gguf", "a b", "it's", "$HOME `id` \"x\" \\", "*", "a;b", "~", "line\nbreak", "#x", "!"}) {
    EXPECT_EQ(Echoed(ShellWord(text)), text);
  }
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace tessera
