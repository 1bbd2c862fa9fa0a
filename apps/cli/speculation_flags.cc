#include "tessera/apps/cli/speculation_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/cache_folder.h"

DEFINE_string(speculate, "auto",
              "LIST|Draft tokens, so that a pass checks several; the text stays the same. none, auto (all), or some of "
              "lookup,suffix,recycling,calibrated,reuse.");
DEFINE_string(history, "",
              "NAME|Draft also from answers kept under this name, and keep those of this run, in $TESSERA_CACHE/history/NAME-*, "
              "which you may delete.");
DEFINE_bool(history_prompts, false, "|Keep prompts in the history, too. Needs --history.");
DEFINE_string(cost_profile, "",
              "FILE|Choose drafts by the fixed costs in this file; if there is none, the costs are measured and written.");

namespace tessera {

FlagGroup SpeculationFlags() { return {"Speculation", {"speculate", "history", "cost_profile"}}; }

SpeculationOptions SpeculationOfFlags() {
  return {.speculate = FLAGS_speculate,
          .history = FLAGS_history,
          .history_folder = absl::StrCat(CacheFolder(), "/history"),
          .history_prompts = FLAGS_history_prompts,
          .cost_profile = FLAGS_cost_profile};
}

}  // namespace tessera
