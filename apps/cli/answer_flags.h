// From flags to how answers are written: sampling, stop strings, drafts.
//
//   ASSIGN_OR_RETURN(const AnswererOptions options, AnswererOptionsOfFlags());
//   ASSIGN_OR_RETURN(Answerer answerer, Answerer::Create(*engine, options));
//
// Errors are wrong usage of the flag that they are about. Threads: one at a time.
#pragma once

#include <gflags/gflags_declare.h>

#include "absl/status/statusor.h"
#include "tessera/apps/cli/flag_group.h"
#include "tessera/runtime/chat/answer.h"

DECLARE_uint64(seed);
DECLARE_double(temperature);
DECLARE_int32(top_k);
DECLARE_double(top_p);
DECLARE_double(min_p);
DECLARE_double(repetition_penalty);
DECLARE_string(stop);
DECLARE_int32(n_predict);

namespace tessera {

FlagGroup SamplingFlags();   // --temperature --top_k --top_p --min_p --repetition_penalty --seed --stop

// These, those of speculation, and --n_predict, checked before anything is read.
absl::StatusOr<AnswererOptions> AnswererOptionsOfFlags();

}  // namespace tessera
