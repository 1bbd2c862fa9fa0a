// The subcommands of tessera_quantize, a file each: what a model says of texts, as a file by which others are made.
//
//   return CommandsMain(argc, argv, info, {CollectStatistics(), WriteStatesOfTexts()}, Run);            // cli/commands.h
//
// Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command CollectStatistics();    // statistics: mean squares of the inputs of each matrix, by which errors of quantized weights are weighed.
Command WriteStatesOfTexts();   // states: tokens, hidden states and logits, on which small parts are trained.

}  // namespace tessera
