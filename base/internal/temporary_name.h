// The names of temporary files (file.h). Each name tells the target file and the writer, and proves that the engine made the name.
//
//   TemporaryName("story.session", getpid(), 3);                     // ".tessera-1234-3-9f3c0a12-story.session.tmp"
//   IsTemporaryName(".tessera-1234-3-9f3c0a12-story.session.tmp");   // true; false with any other letter or digit
//
// The eight digits are a checksum of the rest of the name and of the machine's name. So no name that a person gives to a file looks like a
// temporary name, and neither does a name from another machine, whose locks a shared folder may not show. Thread-safe (no state).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

inline constexpr size_t kLongestTemporaryName = 128;

// Returns the name for file `number` that `process` writes, to become `file`, a name without folders. A long name is cut to at most
// kLongestTemporaryName bytes.
std::string TemporaryName(absl::string_view file, int64_t process, int64_t number);

bool IsTemporaryName(absl::string_view name);

}  // namespace tessera
