// The number formats that weights come in: how many values share a block, how many bytes it takes, what the bytes mean.
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
  kT2, kT3  // No GGUF file has these: groups of 32 values with code books of two and three bits.
};
inline constexpr int kBlockFormats = static_cast<int>(BlockFormat::kT3) + 1;
inline constexpr uint32_t kNoGgufType = UINT32_MAX;

struct BlockFormatInfo {
  BlockFormat format;
  const char* name;           // As GGUF tools print it, where they know it: "Q4_K".
  uint32_t gguf_type;         // The type's number in a GGUF tensor table; kNoGgufType: GGUF has none, only .tsr files hold the format.
  int32_t values_per_block;   // 1 for the plain floats.
  int32_t bytes_per_block;
  // Widens `values` numbers to FP32, exactly as the format defines them (one rounding per value).
  // REQUIRES: values is a multiple of values_per_block; blocks holds values / values_per_block blocks.
  void (*dequantize)(const std::byte* blocks, int64_t values, float* out);
  // Rounds FP32 numbers into blocks; the same numbers always give the same bytes. Null: the format is only read (CheckWritten).
  // Plain floats, Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0: the bytes that GGUF tools write, a scale from the largest values and the codes
  // nearest under it. A NaN gives some valid block; a scale that FP16 cannot hold becomes infinite.
  // The K formats, IQ4_NL, T2 and T3: a search for the block with the smallest squared error (quant/internal/formats/k_search.h and
  // codebook_search.h). Always finite: NaN counts as 0, and numbers beyond the format's range, infinities too, as its largest.
  // REQUIRES: as dequantize.
  void (*quantize)(const float* in, int64_t values, std::byte* blocks);
  // Where the FP16 numbers of a block lie: its scale and, where there is one, its minimum or second scale. -1: none (plain floats, MXFP4
  // and NVFP4, and IQ1_M, whose scale is in four pieces).
  int16_t scales[2] = {-1, -1};
  // quantize, where errors do not all count the same: a search for the block with the smallest sum of importance * error^2. Among
  // values that share a scale the largest importance is the measure, and the least is 2^-16 of it; where all are equal, the bytes are those
  // of quantize.
  // Null: the format has no search, or is only read. importance: as many numbers as `values`, finite and not negative.
  void (*search)(const float* in, const float* importance, int64_t values, std::byte* blocks) = nullptr;

  bool in_gguf() const { return gguf_type != kNoGgufType; }
};

const BlockFormatInfo& InfoOf(BlockFormat format);
absl::Span<const BlockFormatInfo> AllBlockFormats();

// Quantizes numbers of a matrix, row by row, before which there are `first` others. importance: of each input, that is of a row's numbers;
// empty: all the same. REQUIRES: as quantize; with an importance that the format has a search, and rows are whole blocks; a block begins at
// `first`.
void QuantizeNumbersOfRows(const BlockFormatInfo& format, absl::Span<const float> in, int64_t first, absl::Span<const float> importance,
                           std::byte* blocks);

// NotFound, with the names or types that are known. No type finds a format that GGUF has not.
absl::StatusOr<const BlockFormatInfo*> BlockFormatByName(absl::string_view name);
absl::StatusOr<const BlockFormatInfo*> BlockFormatByGgufType(uint32_t type);

// InvalidArgument, with the formats that can be written, for a format that is only read.
absl::Status CheckWritten(BlockFormat format);
// InvalidArgument for a format that GGUF files cannot hold: "T2: GGUF has no such type; expected a .tsr output".
absl::Status CheckInGguf(BlockFormat format);

// Bytes of `rows` rows of `columns` values. InvalidArgument if columns is not a whole number of blocks; OutOfRange if it overflows.
absl::StatusOr<int64_t> BytesOfRows(BlockFormat format, int64_t rows, int64_t columns);

}  // namespace tessera
