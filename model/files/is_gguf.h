// Whether a file begins as a GGUF file does, where a name may lead to files of several kinds.
//
//   ASSIGN_OR_RETURN(const bool is_gguf, IsGguf("reward.gguf"));
//
// Errors are those of opening and reading it. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

absl::StatusOr<bool> IsGguf(const std::string& path);

}  // namespace tessera
