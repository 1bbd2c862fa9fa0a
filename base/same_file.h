// Whether two paths lead to one file, so that an output does not take the place of an input.
//
//   if (IsSameFile("model.gguf", "link_to_model")) ...       // true
//   if (IsOpenAs(STDOUT_FILENO, "model.gguf")) ...           // tessera_generate >> model.gguf
//
// Only regular files count, and names that nothing has yet: two outputs may both go to a terminal. What cannot be examined is no file.
// Thread-safe.
#pragma once

#include <string>

#include "tessera/base/cpp20.h"

namespace tessera {

// True for one file by two names, also through links, and for two spellings of a name in one folder that has no such file yet.
bool IsSameFile(const std::string& a, const std::string& b);

// True if the process's descriptor is that file.
bool IsOpenAs(int descriptor, const std::string& path);

// True if the process's descriptor is a file in that folder, by any name, not in one below.
bool IsOpenIn(int descriptor, const std::string& folder);

// True if the file is there and lies in that folder, not in one below.
bool LiesIn(const std::string& folder, const std::string& path);
// True for a name that nothing has yet, too.
bool LeadsInto(const std::string& folder, const std::string& path);

}  // namespace tessera
