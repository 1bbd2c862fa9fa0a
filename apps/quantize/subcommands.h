// The subcommands of tessera_quantize, a source file each. A subcommand runs a model over texts and writes a file from which other files
// are made.
//
//   return CommandsMain(argc, argv, info, {CollectStatistics(), WriteStatesOfTexts()}, Run);            // cli/commands.h
//
// Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command CollectStatistics();    // statistics: mean squares of each matrix's inputs, as weights for errors of quantization.
Command WriteStatesOfTexts();   // states: tokens, hidden states and logits, for training of small parts.

}  // namespace tessera
