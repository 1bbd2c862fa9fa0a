// The subcommands of tessera_reproduce, a file each.
//
//   return CommandsMain(argc, argv, info, {ReproduceNpu(), ReproduceSdnpu(), ReproduceOnemodel(), ReproduceRecord()});   // cli/commands.h
//
// Each prints a paper's figures next to those of the engine and its models of phones. Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command ReproduceNpu();      // Single times, memory and shares of four papers (docs/papers.md) next to predictions.
Command ReproduceSdnpu();    // sd.npu and its baselines, whole requests.
Command ReproduceOnemodel(); // One model for many tasks, the one-for-all paper.
Command ReproduceLever();    // Lever and its baselines, on modeled phones with flash.
Command ReproduceScaling();  // Test-time scaling on modeled phones.
Command ReproduceRecord();   // Records a drafter's passes while a model writes.
Command ReproduceRecordDraft();   // Records a draft model's answers to texts that another model writes.

}  // namespace tessera
