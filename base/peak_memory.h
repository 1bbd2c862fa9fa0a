// The most physical memory this process has had at once: the number a memory budget is checked against.
//
//   LOG(INFO) << "peak memory " << FormatByteSize(PeakMemoryBytes());
//
// Pages of mapped files count while they are in memory. Thread-safe.
#pragma once

#include <cstdint>

namespace tessera {

int64_t PeakMemoryBytes();  // 0 if the system does not say.

}  // namespace tessera
