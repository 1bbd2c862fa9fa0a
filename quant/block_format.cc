#include "tessera/quant/block_format.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/internal/formats/formats.h"

namespace tessera {
namespace {

// Errors of all numbers count the same.
template <void (*kSearch)(const float*, const float*, int64_t, std::byte*)>
void AllTheSame(const float* in, int64_t values, std::byte* blocks) {
  kSearch(in, nullptr, values, blocks);
}

// In the order of the enum (a test compares the orders). Numbers are GGUF's type numbers, if GGUF has the type.
constexpr BlockFormatInfo kFormats[kBlockFormats] = {
    {BlockFormat::kF32, "F32", 0, 1, 4, DequantizeF32, QuantizeF32},
    {BlockFormat::kF16, "F16", 1, 1, 2, DequantizeF16, QuantizeF16},
    {BlockFormat::kBF16, "BF16", 30, 1, 2, DequantizeBF16, QuantizeBF16},
    {BlockFormat::kQ4_0, "Q4_0", 2, 32, 18, DequantizeQ4_0, QuantizeQ4_0, {0, -1}},
    {BlockFormat::kQ4_1, "Q4_1", 3, 32, 20, DequantizeQ4_1, QuantizeQ4_1, {0, 2}},
    {BlockFormat::kQ5_0, "Q5_0", 6, 32, 22, DequantizeQ5_0, QuantizeQ5_0, {0, -1}},
    {BlockFormat::kQ5_1, "Q5_1", 7, 32, 24, DequantizeQ5_1, QuantizeQ5_1, {0, 2}},
    {BlockFormat::kQ8_0, "Q8_0", 8, 32, 34, DequantizeQ8_0, QuantizeQ8_0, {0, -1}},
    {BlockFormat::kQ2_K, "Q2_K", 10, 256, 84, DequantizeQ2_K, AllTheSame<SearchQ2_K>, {80, 82}, SearchQ2_K},
    {BlockFormat::kQ3_K, "Q3_K", 11, 256, 110, DequantizeQ3_K, AllTheSame<SearchQ3_K>, {108, -1}, SearchQ3_K},
    {BlockFormat::kQ4_K, "Q4_K", 12, 256, 144, DequantizeQ4_K, AllTheSame<SearchQ4_K>, {0, 2}, SearchQ4_K},
    {BlockFormat::kQ5_K, "Q5_K", 13, 256, 176, DequantizeQ5_K, AllTheSame<SearchQ5_K>, {0, 2}, SearchQ5_K},
    {BlockFormat::kQ6_K, "Q6_K", 14, 256, 210, DequantizeQ6_K, AllTheSame<SearchQ6_K>, {208, -1}, SearchQ6_K},
    {BlockFormat::kIQ4_NL, "IQ4_NL", 20, 32, 18, DequantizeIQ4_NL, AllTheSame<SearchIQ4_NL>, {0, -1}, SearchIQ4_NL},
    {BlockFormat::kIQ1_S, "IQ1_S", 19, 256, 50, DequantizeIQ1_S, nullptr, {0, -1}},
    {BlockFormat::kIQ1_M, "IQ1_M", 29, 256, 56, DequantizeIQ1_M, nullptr},
    {BlockFormat::kIQ2_XXS, "IQ2_XXS", 16, 256, 66, DequantizeIQ2_XXS, nullptr, {0, -1}},
    {BlockFormat::kIQ2_XS, "IQ2_XS", 17, 256, 74, DequantizeIQ2_XS, nullptr, {0, -1}},
    {BlockFormat::kIQ2_S, "IQ2_S", 22, 256, 82, DequantizeIQ2_S, nullptr, {0, -1}},
    {BlockFormat::kIQ3_XXS, "IQ3_XXS", 18, 256, 98, DequantizeIQ3_XXS, nullptr, {0, -1}},
    {BlockFormat::kIQ3_S, "IQ3_S", 21, 256, 110, DequantizeIQ3_S, nullptr, {0, -1}},
    {BlockFormat::kIQ4_XS, "IQ4_XS", 23, 256, 136, DequantizeIQ4_XS, nullptr, {0, -1}},
    {BlockFormat::kTQ1_0, "TQ1_0", 34, 256, 54, DequantizeTQ1_0, nullptr, {52, -1}},
    {BlockFormat::kTQ2_0, "TQ2_0", 35, 256, 66, DequantizeTQ2_0, nullptr, {64, -1}},
    {BlockFormat::kMXFP4, "MXFP4", 39, 32, 17, DequantizeMXFP4, nullptr},
    {BlockFormat::kNVFP4, "NVFP4", 40, 64, 36, DequantizeNVFP4, nullptr},
    {BlockFormat::kQ1_0, "Q1_0", 41, 128, 18, DequantizeQ1_0, nullptr, {0, -1}},
    {BlockFormat::kQ2_0, "Q2_0", 42, 64, 18, DequantizeQ2_0, nullptr, {0, -1}},
    {BlockFormat::kT2, "T2", kNoGgufType, 32, 10, DequantizeT2, AllTheSame<SearchT2>, {0, -1}, SearchT2},
    {BlockFormat::kT3, "T3", kNoGgufType, 32, 14, DequantizeT3, AllTheSame<SearchT3>, {0, -1}, SearchT3},
};

// GGUF's type numbers that are not read as weights: the meaning and, if there is one, an alternative.
struct OtherType {
  uint32_t type;
  const char* what;
};
constexpr OtherType kOtherTypes[] = {
    {4, "Q4_2, withdrawn: take the model in another format, or convert it again"},
    {5, "Q4_3, withdrawn: take the model in another format, or convert it again"},
    {9, "Q8_1, a format of intermediate results: convert the model again, for example to Q8_0"},
    {15, "Q8_K, a format of intermediate results: convert the model again, for example to Q8_0"},
    {24, "I8: integers, no weights"},
    {25, "I16: integers, no weights"},
    {26, "I32: integers, no weights"},
    {27, "I64: integers, no weights"},
    {28, "F64: convert the model again, for example to F32"},
    {31, "Q4_0_4_4, repacked for one kind of processor and withdrawn: take the model in Q4_0, which has the same weights"},
    {32, "Q4_0_4_8, repacked for one kind of processor and withdrawn: take the model in Q4_0, which has the same weights"},
    {33, "Q4_0_8_8, repacked for one kind of processor and withdrawn: take the model in Q4_0, which has the same weights"},
    {36, "IQ4_NL_4_4, repacked for one kind of processor and withdrawn: take the model in IQ4_NL, which has the same weights"},
    {37, "IQ4_NL_4_8, repacked for one kind of processor and withdrawn: take the model in IQ4_NL, which has the same weights"},
    {38, "IQ4_NL_8_8, repacked for one kind of processor and withdrawn: take the model in IQ4_NL, which has the same weights"},
};

std::string SupportedNames() {
  return absl::StrJoin(kFormats, ", ", [](std::string* out, const BlockFormatInfo& info) { absl::StrAppend(out, info.name); });
}

std::string SupportedGgufTypes() {
  std::vector<std::string> types;
  for (const BlockFormatInfo& info : kFormats) {
    if (info.in_gguf()) types.push_back(absl::StrCat(info.name, " (", info.gguf_type, ")"));
  }
  return absl::StrJoin(types, ", ");
}

}  // namespace

const BlockFormatInfo& InfoOf(BlockFormat format) { return kFormats[static_cast<size_t>(format)]; }

absl::Span<const BlockFormatInfo> AllBlockFormats() { return kFormats; }

absl::StatusOr<const BlockFormatInfo*> BlockFormatByName(absl::string_view name) {
  for (const BlockFormatInfo& info : kFormats) {
    if (name == info.name) return &info;
  }
  return absl::NotFoundError(absl::StrCat("block format \"", name.substr(0, 32), "\" is not supported; supported: ",
                                          SupportedNames()));
}

absl::StatusOr<const BlockFormatInfo*> BlockFormatByGgufType(uint32_t type) {
  for (const BlockFormatInfo& info : kFormats) {
    if (type == info.gguf_type && info.in_gguf()) return &info;
  }
  const char* what = "unknown";
  for (const OtherType& other : kOtherTypes) {
    if (type == other.type) what = other.what;
  }
  return absl::NotFoundError(absl::StrCat("GGUF type ", type, " (", what, ") is not supported; supported: ",
                                          SupportedGgufTypes()));
}

void QuantizeNumbersOfRows(const BlockFormatInfo& format, absl::Span<const float> in, int64_t first, absl::Span<const float> importance,
                           std::byte* blocks) {
  const int64_t count = static_cast<int64_t>(in.size()), columns = static_cast<int64_t>(importance.size());
  if (columns == 0) return format.quantize(in.data(), count, blocks);
  for (int64_t i = 0; i < count;) {
    const int64_t column = (first + i) % columns, values = std::min(columns - column, count - i);
    format.search(in.data() + i, importance.data() + column, values, blocks);
    blocks += values / format.values_per_block * format.bytes_per_block;
    i += values;
  }
}

absl::Status CheckWritten(BlockFormat format) {
  if (InfoOf(format).quantize != nullptr) return absl::OkStatus();
  std::vector<std::string> written;
  for (const BlockFormatInfo& info : kFormats) {
    if (info.quantize != nullptr) written.push_back(info.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("found ", InfoOf(format).name, ", which is only read; expected one of ",
                                                 absl::StrJoin(written, ", ")));
}

absl::Status CheckInGguf(BlockFormat format) {
  if (InfoOf(format).in_gguf()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(InfoOf(format).name, ": GGUF has no such type; expected a .tsr output"));
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
