#include "tessera/quant/block_format.h"

#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {

// In the order of the enum (a test holds them together). The numbers are GGUF's.
constexpr BlockFormatInfo kFormats[kBlockFormats] = {
    {BlockFormat::kF32, "F32", 0, 1, 4, DequantizeF32, QuantizeF32},
    {BlockFormat::kF16, "F16", 1, 1, 2, DequantizeF16, QuantizeF16},
    {BlockFormat::kBF16, "BF16", 30, 1, 2, DequantizeBF16, QuantizeBF16},
    {BlockFormat::kQ4_0, "Q4_0", 2, 32, 18, DequantizeQ4_0, QuantizeQ4_0, {0, -1}},
    {BlockFormat::kQ4_1, "Q4_1", 3, 32, 20, DequantizeQ4_1, QuantizeQ4_1, {0, 2}},
    {BlockFormat::kQ5_0, "Q5_0", 6, 32, 22, DequantizeQ5_0, QuantizeQ5_0, {0, -1}},
    {BlockFormat::kQ5_1, "Q5_1", 7, 32, 24, DequantizeQ5_1, QuantizeQ5_1, {0, 2}},
    {BlockFormat::kQ8_0, "Q8_0", 8, 32, 34, DequantizeQ8_0, QuantizeQ8_0, {0, -1}},
    {BlockFormat::kQ2_K, "Q2_K", 10, 256, 84, DequantizeQ2_K, QuantizeQ2_K, {80, 82}},
    {BlockFormat::kQ3_K, "Q3_K", 11, 256, 110, DequantizeQ3_K, QuantizeQ3_K, {108, -1}},
    {BlockFormat::kQ4_K, "Q4_K", 12, 256, 144, DequantizeQ4_K, QuantizeQ4_K, {0, 2}},
    {BlockFormat::kQ5_K, "Q5_K", 13, 256, 176, DequantizeQ5_K, QuantizeQ5_K, {0, 2}},
    {BlockFormat::kQ6_K, "Q6_K", 14, 256, 210, DequantizeQ6_K, QuantizeQ6_K, {208, -1}},
    {BlockFormat::kIQ4_NL, "IQ4_NL", 20, 32, 18, DequantizeIQ4_NL, QuantizeIQ4_NL, {0, -1}},
};

// What a GGUF type number is called, for messages; the number is the index. Null: never given out, or withdrawn.
constexpr const char* kGgufTypeNames[] = {
    "F32",    "F16",     "Q4_0",   "Q4_1",    nullptr,  // 0
    nullptr,  "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",   // 5
    "Q2_K",   "Q3_K",    "Q4_K",   "Q5_K",    "Q6_K",   // 10
    "Q8_K",   "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",  // 15
    "IQ4_NL", "IQ3_S",   "IQ2_S",  "IQ4_XS",  "I8",     // 20
    "I16",    "I32",     "I64",    "F64",     "IQ1_M",  // 25
    "BF16",   nullptr,   nullptr,  nullptr,   "TQ1_0",  // 30
    "TQ2_0",  nullptr,   nullptr,  nullptr,   "MXFP4",  // 35
};

std::string SupportedFormats(bool with_type) {
  return absl::StrJoin(kFormats, ", ", [with_type](std::string* out, const BlockFormatInfo& info) {
    absl::StrAppend(out, info.name);
    if (with_type) absl::StrAppend(out, " (", info.gguf_type, ")");
  });
}

}  // namespace

const BlockFormatInfo& InfoOf(BlockFormat format) { return kFormats[static_cast<size_t>(format)]; }

absl::Span<const BlockFormatInfo> AllBlockFormats() { return kFormats; }

absl::StatusOr<const BlockFormatInfo*> BlockFormatByName(absl::string_view name) {
  for (const BlockFormatInfo& info : kFormats) {
    if (name == info.name) return &info;
  }
  return absl::NotFoundError(absl::StrCat("block format \"", name.substr(0, 32), "\" is not supported; supported: ",
                                          SupportedFormats(/*with_type=*/false)));
}

absl::StatusOr<const BlockFormatInfo*> BlockFormatByGgufType(uint32_t type) {
  for (const BlockFormatInfo& info : kFormats) {
    if (type == info.gguf_type) return &info;
  }
  const char* name = type < std::size(kGgufTypeNames) ? kGgufTypeNames[type] : nullptr;
  return absl::NotFoundError(absl::StrCat("GGUF type ", type, " (", name == nullptr ? "unknown" : name,
                                          ") is not supported; supported: ", SupportedFormats(/*with_type=*/true)));
}

absl::StatusOr<int64_t> BytesOfRows(BlockFormat format, int64_t rows, int64_t columns) {
  const BlockFormatInfo& info = InfoOf(format);
  if (rows < 0 || columns < 0 || columns % info.values_per_block != 0) {
    return absl::InvalidArgumentError(absl::StrCat(rows, " rows of ", columns, " values in ", info.name,
                                                   ": expected rows of whole blocks of ", info.values_per_block));
  }
  ASSIGN_OR_RETURN(const int64_t row_bytes, CheckedMul(columns / info.values_per_block, info.bytes_per_block));
  return CheckedMul(rows, row_bytes);
}

}  // namespace tessera
