// How the next token is chosen: each value is the flag's and, where the flag is not given, the model's (model/files/model_sampling.h).
//
//   RETURN_IF_ERROR(CheckSamplingFlags());                                        // before the model is opened
//   ASSIGN_OR_RETURN(const SamplingOptions sampling, SamplingFor(engine->model().gguf()));
//   if (FLAGS_stats) WriteError(SamplingText(engine->model().gguf()));
//
// Errors are wrong usage of a flag, or name the file's key. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/text/sampler.h"

namespace tessera {

// WrongUsage of a flag of SamplingFlags().
absl::Status CheckSamplingFlags();

// Writes a line to standard error if the file's values change what is chosen, unless --stats will show all. Warns of recommendations that
// the sampler cannot follow, and of flags that are given and have no effect beside the other values: --top_k at temperature 0. A wrong
// recommendation is no error where its flag is given. With --beam the model's repetition penalty is left out, since no penalty sees a whole
// answer there; a line says so.
absl::StatusOr<SamplingOptions> SamplingFor(const GgufFile& file);

// Returns "sampling: temperature 0.2, top_p 0.9 (SmolLM2); top_k 7 (flag); min_p 0.05, ... (default); seed 0", a line: all values, and
// behind them who says them. used: the values of now, of which "set" says those that differ from the start's; null: the start's. REQUIRES:
// SamplingFor was OK.
std::string SamplingText(const GgufFile& file, const SamplingOptions* used = nullptr);

}  // namespace tessera
