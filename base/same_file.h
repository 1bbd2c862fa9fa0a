// Tells whether two paths lead to one file, so that an output does not replace an input.
//
//   if (IsSameFile("model.gguf", "link_to_model")) ...       // true
//   if (IsOpenAs(STDOUT_FILENO, "model.gguf")) ...           // tessera_generate >> model.gguf
//
// Only regular files and unused names count: two outputs may both go to a terminal. A path that cannot be examined counts as no file.
// Thread-safe.
#pragma once

#include <string>

#include "tessera/base/cpp20.h"

namespace tessera {

// Returns true for one file with two names, also through links, and for two spellings of an unused name in one folder.
bool IsSameFile(const std::string& a, const std::string& b);

// Returns true if the process's descriptor is the file at `path`.
bool IsOpenAs(int descriptor, const std::string& path);

// Returns true if the process's descriptor is a file in `folder`, by any name, not in a subfolder.
bool IsOpenIn(int descriptor, const std::string& folder);

// Returns true if the file exists and is in `folder`, not in a subfolder.
bool LiesIn(const std::string& folder, const std::string& path);
// As LiesIn; also true for an unused name.
bool LeadsInto(const std::string& folder, const std::string& path);

}  // namespace tessera
