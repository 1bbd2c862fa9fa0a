// In how many pieces a file lies on its disk.
//
//   bool slow = CountDiskExtents("model.tsr") > 40;
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

// -1 if the file system does not tell (FIEMAP), or the file cannot be opened.
int64_t CountDiskExtents(const std::string& path);

}  // namespace tessera
