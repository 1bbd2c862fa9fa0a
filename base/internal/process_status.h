// Numbers of a process from /proc/self/status.
//
//   const std::optional<int64_t> bytes = StatusField("/proc/self/status", "VmHWM:");   // of a line such as "VmHWM:     123 kB"
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns the number in a line; nullopt if the file or the line does not exist.
std::optional<int64_t> StatusField(const std::string& path, absl::string_view name);

}  // namespace tessera
