// Numbers of a process, as /proc/self/status gives them.
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

// nullopt: there is no such file, or no such line.
std::optional<int64_t> StatusField(const std::string& path, absl::string_view name);

}  // namespace tessera
