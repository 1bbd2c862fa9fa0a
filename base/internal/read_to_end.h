// Reads an open file to its end.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tessera {

// `size`: what it is expected to have; it may have grown, and files in /proc say 0. ResourceExhausted above max_bytes. Waits for a pipe
// that does not block its reader. `path` is for errors.
absl::StatusOr<std::string> ReadToEnd(int descriptor, const std::string& path, int64_t size, int64_t max_bytes);

}  // namespace tessera
