// Physical memory of this process: the peak, the present private memory, and the present memory of mapped files.
//
//   LOG(INFO) << "peak memory " << FormatKnownByteSize(PeakMemoryBytes());
//   if (const std::optional<int64_t> own = OwnMemoryBytes()) left = budget - *own;
//
// nullopt: the system does not tell, for example without /proc. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/cpp20.h"
#include "tessera/base/json_writer.h"

namespace tessera {

// Returns the peak. Includes pages of mapped files while the pages are in memory.
std::optional<int64_t> PeakMemoryBytes();
// Returns the present memory without the pages of mapped files (code, libraries): such pages are shared with others and can be read again.
std::optional<int64_t> OwnMemoryBytes();
// Returns the present memory of mapped files: code and constants of the program and the libraries.
std::optional<int64_t> MappedFileBytes();

// Writes two members of the current object: "peak_memory_bytes", and "mapped_file_bytes", the present part in mapped files. null: not
// known.
void WriteMemory(JsonWriter& json);

}  // namespace tessera
