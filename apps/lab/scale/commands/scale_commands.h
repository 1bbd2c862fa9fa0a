// The subcommands of tessera_scale, one file per subcommand.
//
//   return CommandsMain(argc, argv, info, {ScaleRun(), ScaleJudge(), ScaleCheck()});            // cli/commands.h
//
// Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command ScaleRun();     // Generates samples of a set's problems.
Command ScaleCheck();   // Checks that the sets' own solutions are right by the judging rules.
Command ScaleScore();   // Scores recorded samples by a scorer that runs a model.
Command ScaleTexts();   // Converts recorded samples to texts and labels for training a reward head.
Command ScaleGrid();    // Generates samples, measures times and judges the methods of choosing among N samples, with a page.
Command ScaleReport();  // Writes the page of several grids.
Command ScaleJudge();   // Estimates how often methods of choosing among recorded samples choose a right sample.

}  // namespace tessera
