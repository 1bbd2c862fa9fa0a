// --scorer, whose default differs between programs.
//
//   ASSIGN_OR_RETURN(const ScorerSpec spec, ParseScorer(ScorerOfFlag("mean_log_probability")));
//
// Threads: one at a time.
#pragma once

#include <string>

#include "tessera/apps/cli/flags/flags.h"

namespace tessera {

// What --scorer names, or `usual` without it.
inline std::string ScorerOfFlag(const char* usual) { return IsGiven("scorer") ? FLAGS_scorer : usual; }

}  // namespace tessera
