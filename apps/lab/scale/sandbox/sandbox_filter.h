// The system calls that sandboxed code may make (sandbox.h), as the kernel's filter.
//
//   ASSIGN_OR_RETURN(const std::vector<sock_filter> filter, ReadingFilter());
//
// libseccomp makes the filter for this machine's architecture. Calls of another architecture (32 bits) end the process. Thread-safe.
#pragma once

#include <vector>

#include <linux/filter.h>

#include "absl/status/statusor.h"

namespace tessera {

absl::StatusOr<std::vector<sock_filter>> ReadingFilter();

}  // namespace tessera
