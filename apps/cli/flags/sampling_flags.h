// The values by which the next token is chosen. A given flag sets the value; without the flag the model does
// (model/files/model_sampling.h).
//
//   RETURN_IF_ERROR(CheckSamplingFlags());                                        // before the model is opened
//   ASSIGN_OR_RETURN(const SamplingOptions sampling, SamplingFor(engine->model().gguf()));
//   if (FLAGS_stats) WriteError(SamplingText(engine->model().gguf()));
//
// Errors: wrong usage of a flag, or an error that names the file's key. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/text/sampler.h"

namespace tessera {

// Checks the flags of SamplingFlags(). WrongUsage of a faulty flag.
absl::Status CheckSamplingFlags();

// Returns the sampling options. Writes a line to standard error if the file's values change the choice, unless --stats will show all
// values. Warns of recommendations that the sampler cannot follow. Warns of given flags that have no effect because of the other values:
// --top_k at temperature 0. A wrong recommendation is no error where the flag is given. With --beam the model's repetition penalty is left
// out, since no penalty sees a whole answer there; a line says so.
absl::StatusOr<SamplingOptions> SamplingFor(const GgufFile& file);

// Returns "sampling: temperature 0.2, top_p 0.9 (SmolLM2); top_k 7 (flag); min_p 0.05, ... (default); seed 0", a line: all values, each
// with the origin. used: the present values; the origin "set" marks a value that differs from the value at the start; null: the values at
// the start. REQUIRES: SamplingFor was OK.
std::string SamplingText(const GgufFile& file, const SamplingOptions* used = nullptr);

}  // namespace tessera
