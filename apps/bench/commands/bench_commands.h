// The subcommands of tessera_bench, a file each.
//
//   return CommandsMain(argc, argv, Info(), {BenchSpeed(), BenchRows()});            // commands.h
//
// Each has the flags that change its figures, and no others. With --json it writes an object, else a table. Threads: one at a time.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command BenchSpeed();
Command BenchOverhead();
Command BenchThreads();
Command BenchRoofline();
Command BenchRows();
Command BenchAttention();
Command BenchProducts();
Command BenchMemory();
Command BenchStreaming();

}  // namespace tessera
