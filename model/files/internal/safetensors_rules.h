// The limits of a safetensors file, for reader and writer, so that no file is written that the reader would refuse.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {

static_assert(std::endian::native == std::endian::little, "numbers of safetensors files are read as they lie there");

inline constexpr int64_t kSafetensorsLengthBytes = 8;         // The header's length, in front of the header.
inline constexpr char kSafetensorsMetadata[] = "__metadata__";
inline constexpr int64_t kLargestSafetensors = int64_t{1} << 60;   // Sums of such sizes stay far below 63 bits.

// Returns an empty text if a tensor may have this name, else the problem: "found ..., expected ...".
inline std::string ProblemOfTensorName(absl::string_view name) {
  if (name.empty() || name.size() > SafetensorsFile::kLongestName) {
    return absl::StrCat("found a name of ", name.size(), " bytes, expected 1 to ", SafetensorsFile::kLongestName);
  }
  return IsPrintableUtf8(name) ? "" : "found this name, expected printable UTF-8";
}

// Returns the number of a tensor's numbers; BytesOfSafetensors returns the bytes. Errors name the problem of the shape.
inline absl::StatusOr<int64_t> NumbersOfSafetensors(absl::Span<const int64_t> shape) {
  if (shape.size() > SafetensorsFile::kMostDimensions) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", shape.size(), " dimensions, expected at most ", SafetensorsFile::kMostDimensions));
  }
  int64_t numbers = 1;
  for (const int64_t length : shape) {
    ASSIGN_OR_RETURN(numbers, CheckedMul(numbers, length));
  }
  return numbers;
}

inline absl::StatusOr<int64_t> BytesOfSafetensors(SafetensorsType type, absl::Span<const int64_t> shape) {
  ASSIGN_OR_RETURN(const int64_t numbers, NumbersOfSafetensors(shape));
  return CheckedMul(numbers, InfoOf(type).bytes);
}

}  // namespace tessera
