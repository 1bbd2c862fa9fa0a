// --scorer, whose default differs between programs.
//
//   ASSIGN_OR_RETURN(const ScorerSpec spec, ParseScorer(ScorerOfFlag("mean_log_probability")));
//
// Threads: one at a time.
#pragma once

#include <string>

#include "tessera/apps/cli/flags/flags.h"

namespace tessera {

// Returns the value of --scorer, or `usual` without the flag.
inline std::string ScorerOfFlag(const char* usual) { return IsGiven("scorer") ? FLAGS_scorer : usual; }

}  // namespace tessera
