// The subcommands of tessera_reproduce, a file each.
//
//   return CommandsMain(argc, argv, info, {ReproduceNpu(), ReproduceSdnpu(), ReproduceRecord()});            // cli/commands.h
//
// Each prints what a paper says beside what the engine and its models of phones say. Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command ReproduceNpu();      // Single times, memory and shares of papers 000, 001, 003 and 004 beside predictions.
Command ReproduceSdnpu();    // sd.npu and what it is compared with, whole requests.
Command ReproduceRecord();   // Records what drafters do while a model writes.

}  // namespace tessera
