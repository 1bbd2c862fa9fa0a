// The number formats of weights: values per block, bytes per block, and the meaning of the bytes.
//
//   ASSIGN_OR_RETURN(const BlockFormatInfo* format, BlockFormatByName("Q4_1"));
//   std::vector<float> values(format->values_per_block);
//   format->dequantize(block_bytes, format->values_per_block, values.data());
//
// Blocks run along a matrix's input dimension, as in GGUF files. A format is one file in quant/internal/formats/ and one line in
// block_format.cc. Thread-safe (constant data and pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class BlockFormat : uint8_t {
  kF32, kF16, kBF16, kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kIQ4_NL,
  kIQ1_S, kIQ1_M, kIQ2_XXS, kIQ2_XS, kIQ2_S, kIQ3_XXS, kIQ3_S, kIQ4_XS, kTQ1_0, kTQ2_0, kMXFP4, kNVFP4, kQ1_0, kQ2_0,
  kT2, kT3  // Not in any GGUF file: groups of 32 values with code books of two and three bits.
};
inline constexpr int kBlockFormats = static_cast<int>(BlockFormat::kT3) + 1;
inline constexpr uint32_t kNoGgufType = UINT32_MAX;

struct BlockFormatInfo {
  BlockFormat format;
  const char* name;           // The name in GGUF tools if the format is known there: "Q4_K".
  uint32_t gguf_type;         // The type's number in a GGUF tensor table; kNoGgufType: only .tsr files hold the format.
  int32_t values_per_block;   // 1 for the plain floats.
  int32_t bytes_per_block;
  // Widens `values` numbers to FP32, exactly by the format's definition (one rounding per value).
  // REQUIRES: values is a multiple of values_per_block; blocks holds values / values_per_block blocks.
  void (*dequantize)(const std::byte* blocks, int64_t values, float* out);
  // Rounds FP32 numbers into blocks; equal numbers always give equal bytes. Null: the format is only read (CheckWritten).
  // Plain floats, Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0: the bytes that GGUF tools write. The scale comes from the largest values; codes are the
  // nearest under the scale. A NaN gives some valid block; a scale beyond FP16 becomes infinite.
  // The K formats, IQ4_NL, T2 and T3: a search for the block with the smallest squared error (quant/internal/formats/k_search.h and
  // codebook_search.h). Always finite: NaN counts as 0; numbers beyond the format's range, infinities too, count as the format's largest
  // number.
  // REQUIRES: as dequantize.
  void (*quantize)(const float* in, int64_t values, std::byte* blocks);
  // Offsets of a block's FP16 numbers: the scale and, if present, the minimum or second scale. -1: none (plain floats, MXFP4 and NVFP4, and
  // IQ1_M, whose scale is in four pieces).
  int16_t scales[2] = {-1, -1};
  // As quantize, with weighted errors: a search for the block with the smallest sum of importance * error^2. Among values that share a
  // scale, importances are relative to the largest importance and at least 2^-16 of it. If all importances are equal, the bytes equal the
  // bytes of quantize. importance: as many numbers as `values`, finite and not negative. Null: the format has no search, or is only read.
  void (*search)(const float* in, const float* importance, int64_t values, std::byte* blocks) = nullptr;

  bool in_gguf() const { return gguf_type != kNoGgufType; }
};

const BlockFormatInfo& InfoOf(BlockFormat format);
absl::Span<const BlockFormatInfo> AllBlockFormats();

// Quantizes numbers of a matrix, row by row; `first` numbers of the matrix come before. importance: per input, that is per number of a row;
// empty: all equal. REQUIRES: as quantize; a block begins at `first`; with an importance, the format has a search and rows are whole
// blocks.
void QuantizeNumbersOfRows(const BlockFormatInfo& format, absl::Span<const float> in, int64_t first, absl::Span<const float> importance,
                           std::byte* blocks);

// Finds a format. NotFound, with the known names or types. No GGUF type finds a format that GGUF does not have.
absl::StatusOr<const BlockFormatInfo*> BlockFormatByName(absl::string_view name);
absl::StatusOr<const BlockFormatInfo*> BlockFormatByGgufType(uint32_t type);

// InvalidArgument, with the formats that can be written, if `format` is only read.
absl::Status CheckWritten(BlockFormat format);
// InvalidArgument if GGUF files cannot hold `format`: "T2: GGUF has no such type; expected a .tsr output".
absl::Status CheckInGguf(BlockFormat format);

// Returns the bytes of `rows` rows of `columns` values. InvalidArgument if columns is not a whole number of blocks; OutOfRange if the size
// overflows.
absl::StatusOr<int64_t> BytesOfRows(BlockFormat format, int64_t rows, int64_t columns);

}  // namespace tessera
