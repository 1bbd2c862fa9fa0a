// Counts the parts of the disk that a file lies in.
//
//   bool slow = CountDiskExtents("model.tsr") > 40;
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

// Returns -1 if the file system does not tell (FIEMAP), or the file cannot be opened.
int64_t CountDiskExtents(const std::string& path);

}  // namespace tessera
