// From flags to what drafts texts.
//
//   RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(), options));          // runtime/chat/speculation.h: checks them
//
// Threads: one at a time.
#pragma once

#include <gflags/gflags_declare.h>

#include "tessera/apps/cli/flag_group.h"
#include "tessera/runtime/chat/speculation.h"

DECLARE_string(speculate);
DECLARE_string(history);
DECLARE_bool(history_prompts);
DECLARE_string(cost_profile);

namespace tessera {

// --speculate --history --cost_profile: other programs than tessera_generate read a history, and keep no prompts there.
FlagGroup SpeculationFlags();

SpeculationOptions SpeculationOfFlags();

}  // namespace tessera
