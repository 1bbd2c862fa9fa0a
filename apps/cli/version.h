// The output of --version: the program's version and commit, the kernels that this CPU can run, and the kernels that --kernels chooses.
//
//   RETURN_IF_ERROR(ShowVersion("tessera_bench"));            // an object with --json
//
// Errors begin with --kernels.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

absl::Status ShowVersion(absl::string_view program);

}  // namespace tessera
