// Physical memory of this process: the most it has had at once, what is its own now, and what it has mapped of files.
//
//   LOG(INFO) << "peak memory " << FormatKnownByteSize(PeakMemoryBytes());
//   if (const std::optional<int64_t> own = OwnMemoryBytes()) left = budget - *own;
//
// nullopt: the system does not say, as where there is no /proc. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/cpp20.h"
#include "tessera/base/json_writer.h"

namespace tessera {

// Includes pages of mapped files while they are in memory.
std::optional<int64_t> PeakMemoryBytes();
// Without the pages of mapped files (code, libraries), which are shared with others and can be read again.
std::optional<int64_t> OwnMemoryBytes();
// These pages: code and constants of the program and its libraries.
std::optional<int64_t> MappedFileBytes();

// "peak_memory_bytes" and the part of it that is of mapped files now, "mapped_file_bytes": members of the current object; null: not known.
void WriteMemory(JsonWriter& json);

}  // namespace tessera
