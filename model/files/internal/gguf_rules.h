// The limits of a GGUF file, for reader and writer, so that no file is written that the reader would refuse.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/block_format.h"

namespace tessera {

inline constexpr uint32_t kGgufMagic = 0x46554747;                      // "GGUF"
inline constexpr uint64_t kLongestKey = 65535, kLongestName = 63;       // Limits of the format; a name takes 64 bytes with its NUL.
// The largest models have some 100 entries and some 50,000 tensors.
inline constexpr uint64_t kMostEntries = 1 << 16, kMostTensors = 1 << 17;
inline constexpr uint32_t kMostDimensions = 4;
inline constexpr uint32_t kDefaultAlignment = 32;                       // Alignment of tensors without general.alignment.

// Returns the bytes of a tensor, fastest dimension first. Returns the errors of BytesOfRows; OutOfRange also if the number of values
// overflows, since blocks take fewer bytes than the number of values. REQUIRES: shape is not empty.
inline absl::StatusOr<int64_t> BytesOfTensor(BlockFormat format, absl::Span<const int64_t> shape) {
  int64_t rows = 1;
  for (int64_t length : shape.subspan(1)) {
    ASSIGN_OR_RETURN(rows, CheckedMul(rows, length));
  }
  RETURN_IF_ERROR(CheckedMul(rows, shape[0]).status());
  return BytesOfRows(format, rows, shape[0]);
}

}  // namespace tessera
