// Reads an open file to its end.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tessera {

// Reads the file to its end. `size`: the expected size; the file may have grown, and files in /proc say 0. Waits for data of a pipe that
// does not block its reader. `path` is for errors. ResourceExhausted above max_bytes.
absl::StatusOr<std::string> ReadToEnd(int descriptor, const std::string& path, int64_t size, int64_t max_bytes);

}  // namespace tessera
