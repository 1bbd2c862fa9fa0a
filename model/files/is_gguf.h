// Tells whether a file begins like a GGUF file, for names that may lead to files of several kinds.
//
//   ASSIGN_OR_RETURN(const bool is_gguf, IsGguf("reward.gguf"));
//
// Errors: the errors of opening and reading the file. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

absl::StatusOr<bool> IsGguf(const std::string& path);

}  // namespace tessera
