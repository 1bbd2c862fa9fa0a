// The subcommands of tessera_scale, a file each.
//
//   return CommandsMain(argc, argv, info, {ScaleRun(), ScaleJudge(), ScaleCheck()});            // cli/commands.h
//
// Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command ScaleRun();     // Writes samples of a set's problems.
Command ScaleCheck();   // Whether the sets' own solutions are right by the rules here.
Command ScaleJudge();   // How often ways to choose among recorded samples choose a right one.

}  // namespace tessera
