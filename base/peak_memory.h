// Physical memory of this process: the most it has had at once, and what is its own now.
//
//   LOG(INFO) << "peak memory " << FormatByteSize(PeakMemoryBytes());
//   const int64_t left = budget - OwnMemoryBytes();
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// Includes pages of mapped files while they are in memory. 0 if the system does not say.
int64_t PeakMemoryBytes();
// Without the pages of mapped files (code, libraries), which are shared with others and can be read again. 0 if the system does not say.
int64_t OwnMemoryBytes();

}  // namespace tessera
