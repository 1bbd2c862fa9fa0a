// The names of temporary files (file.h): each says which file it is to become and who writes it, and proves that the engine gave it.
//
//   TemporaryName("story.session", getpid(), 3);                     // ".tessera-1234-3-9f3c0a12-story.session.tmp"
//   IsTemporaryName(".tessera-1234-3-9f3c0a12-story.session.tmp");   // true; false with any other letter or digit
//
// The eight digits are a checksum of the rest and of the machine's name. So no name that a person gives to a file is taken for one of
// these, and no other machine's, whose locks a shared folder may not show. Thread-safe (no state).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

inline constexpr size_t kLongestTemporaryName = 128;

// Returns the name for file `number` that the process writes, which is to become `file`, a name without folders. A long one is cut. At most
// kLongestTemporaryName bytes.
std::string TemporaryName(absl::string_view file, int64_t process, int64_t number);

bool IsTemporaryName(absl::string_view name);

}  // namespace tessera
