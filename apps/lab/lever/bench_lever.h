// tessera_bench lever: texts of a streamed model with drafts of a small one by several rules, beside plain decoding.
// The subcommand of a program that measures, which only the laboratory needs.
#pragma once

#include "tessera/apps/cli/commands.h"

namespace tessera {

Command BenchLever();

}  // namespace tessera
