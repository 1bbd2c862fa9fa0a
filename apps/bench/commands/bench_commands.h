// The subcommands of tessera_bench, one file per subcommand.
//
//   return CommandsMain(argc, argv, info, {BenchSpeed(), BenchRows()});            // cli/commands.h
//
// Each subcommand has only flags that the subcommand uses. With --json a subcommand writes an object, else a table. Threads: one at a time.
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
Command BenchBatch();
Command BenchSamples();
Command BenchAdapters();
Command BenchSpec();

}  // namespace tessera
