// CRC-32C (Castagnoli: iSCSI, RFC 3720), the checksum of packed files. About as fast as memory can be read.
//
//   uint32_t crc = Crc32c(bytes);                        // of "123456789": 0xE3069283
//   crc = Crc32c(more, crc);                             // of both, one after the other
//
// The checksum detects any change within 32 consecutive bits, and all but one in four billion other changes. There is no protection against
// intended changes. Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the checksum. `crc`: the checksum of the preceding bytes; 0 if there are none.
uint32_t Crc32c(absl::Span<const std::byte> bytes, uint32_t crc = 0);

// The implementations that this CPU supports, slowest first; Crc32c uses the last. For tests and benchmarks.
struct Crc32cPath {
  const char* name;
  uint32_t (*crc)(absl::Span<const std::byte> bytes, uint32_t crc);
};
absl::Span<const Crc32cPath> SupportedCrc32cPaths();

}  // namespace tessera
