// The subcommands of tessera_reproduce, a file each.
//
//   return CommandsMain(argc, argv, info, {ReproduceNpu(), ReproduceSdnpu(), ReproduceOnemodel(), ReproduceRecord()});   // cli/commands.h
//
// Each prints a paper's figures next to those of the engine and its models of phones. Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command ReproduceNpu();      // Single times, memory and shares of four papers (docs/papers.md) beside predictions.
Command ReproduceSdnpu();    // sd.npu and what it is compared with, whole requests.
Command ReproduceOnemodel(); // One model for many tasks, the one-for-all paper.
Command ReproduceLever();    // Lever and what it is compared with, on modeled phones with flash.
Command ReproduceScaling();  // Test-time scaling on modeled phones, the test-time scaling paper.
Command ReproduceRecord();   // Records what drafters do while a model writes.
Command ReproduceRecordDraft();   // Records what a draft model says of texts that another one writes.

}  // namespace tessera
