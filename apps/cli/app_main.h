// The frame of every program: command line, help, version, error message and exit code.
//
//   int main(int argc, char** argv) { return tessera::AppMain(argc, argv, Info(), Run); }       // absl::Status Run();
//
// Exit codes: 0 ok, 1 failed, 2 wrong usage. Wrong usage is every error of the command line's parser, and every error of Run that is marked
// as wrong usage (base/usage_error.h): "--context: found ...". After a Cancelled status the process ends quietly, by the signal that asked
// for the end (interrupt.h). Errors go to stderr as one sentence, with --json, too: standard output holds a whole result or none. No stack
// traces, no exceptions.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "tessera/apps/cli/command_line.h"

namespace tessera {

int AppMain(int argc, char** argv, const AppInfo& info, const std::function<absl::Status()>& run);

// Return the start of the program on the real clock, in nanoseconds; and the seconds since then.
int64_t StartNanos();
double SecondsSinceStart();

}  // namespace tessera
