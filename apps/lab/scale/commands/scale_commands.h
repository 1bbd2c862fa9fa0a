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
Command ScaleScore();   // What a scorer that runs a model says of recorded samples.
Command ScaleTexts();   // Recorded samples as texts and labels that a reward head is trained on.
Command ScaleGrid();    // Samples, times and judgements of ways to choose among N of them, with a page.
Command ScaleReport();  // The page of several grids.
Command ScaleJudge();   // How often ways to choose among recorded samples choose a right one.

}  // namespace tessera
