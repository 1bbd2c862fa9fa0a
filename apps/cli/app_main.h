// The frame of every program: command line, help, version, error message and exit code.
//
//   int main(int argc, char** argv) { return tessera::AppMain(argc, argv, Info(), Run); }       // absl::Status Run();
//   int main(int argc, char** argv) { return tessera::AppMain(argc, argv, Info(), {SpeedCommand(), RowsCommand()}); }
//
// The second has a subcommand for each job: "tessera_bench rows --depth=100". Each takes its own flags alone; one that is another's is
// refused by that one's name.
// Exit codes: 0 ok, 1 failed, 2 wrong usage. Wrong usage is what the command line's parser says, and every error of Run that is
// marked so (base/usage_error.h): "--context: found ...". A Cancelled status ends quietly by the signal that asked for the end
// (interrupt.h). Errors go to stderr as one sentence, with --json, too: standard output holds a whole result or none. No stack
// traces, no exceptions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "tessera/apps/cli/command_line.h"

namespace tessera {

int AppMain(int argc, char** argv, const AppInfo& info, const std::function<absl::Status()>& run);

struct Subcommand {
  AppInfo info;                        // Its name is the word after the program's.
  std::function<absl::Status()> run;
};
// `info` tells of the program as a whole; its groups are empty.
int AppMain(int argc, char** argv, const AppInfo& info, const std::vector<Subcommand>& subcommands);

int64_t StartNanos();         // On the real clock, when the program started.
double SecondsSinceStart();

}  // namespace tessera
