#include "tessera/model/files/internal/form_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Returns the largest number, as a number or as a block's scale.
float LargestIn(BlockFormat format) {
  constexpr float kLargestHalf = 65504.0f, kLargestBFloat16 = 0x1.fep127f;
  if (format == BlockFormat::kF32) return std::numeric_limits<float>::max();
  return format == BlockFormat::kBF16 ? kLargestBFloat16 : kLargestHalf;
}

// Refuses numbers that are too large, since some formats would silently store a smaller number.
absl::Status CheckHeld(const FormedRows& rows, absl::Span<const float> numbers) {
  const float largest = LargestIn(rows.weight.spec.format);
  const auto bad = std::find_if(numbers.begin(), numbers.end(), [largest](float x) { return !(std::fabs(x) <= largest); });
  if (bad == numbers.end()) return absl::OkStatus();
  const int64_t number = rows.first_row * rows.weight.spec.in_features + (bad - numbers.begin());
  return absl::InvalidArgumentError(absl::StrCat(rows.place, ": number ", number, ": found ", *bad, ", expected at most ", largest, " in ",
                                                 InfoOf(rows.weight.spec.format).name));
}

MatrixSpec SpecOf(const FormedRows& rows) {
  MatrixSpec spec = rows.weight.spec;
  spec.name = rows.place;
  return spec;
}

absl::Status QuantizeToBlocks(const FormedRows& rows, absl::Span<const float> numbers, absl::Span<const float> importance,
                              absl::Span<std::byte> out) {
  RETURN_IF_ERROR(CheckHeld(rows, numbers));
  const MatrixSpec spec = SpecOf(rows);
  const BlockFormatInfo& format = InfoOf(spec.format);
  ASSIGN_OR_RETURN(const int64_t bytes, BytesOfRows(spec.format, spec.out_features, spec.in_features));
  std::vector<std::byte> blocks(static_cast<size_t>(bytes));
  const int64_t count = static_cast<int64_t>(numbers.size());
  QuantizeNumbersOfRows(format, numbers, 0, importance, blocks.data());
  if (rows.encoding != WeightEncoding::kFloat32) return PackedMatrix::Pack(spec, blocks, out);
  format.dequantize(blocks.data(), count, reinterpret_cast<float*>(out.data()));
  return absl::OkStatus();
}

}  // namespace

bool TakesBlocks(const FormedRows& rows) {
  if (rows.weight.tile.has_value()) return TileMatrix::IsExact(rows.format, *rows.weight.tile);
  return rows.encoding != WeightEncoding::kFloat32 && rows.weight.spec.format == rows.format;
}

absl::Status WriteBlocks(const FormedRows& rows, absl::Span<const std::byte> blocks, absl::Span<std::byte> out) {
  MatrixSpec spec = SpecOf(rows);
  if (!rows.weight.tile.has_value()) return PackedMatrix::Pack(spec, blocks, out);
  spec.format = rows.format;
  return TileMatrix::Repack(spec, *rows.weight.tile, blocks, out);
}

absl::Status WriteNumbers(const FormedRows& rows, TensorView<const float> numbers, const TileMatrix::Choice& choice,
                          absl::Span<std::byte> out) {
  if (rows.weight.tile.has_value()) {
    TileMatrix::Choice of_rows = choice;
    of_rows.first_output = rows.first_row;
    return TileMatrix::Quantize(SpecOf(rows), *rows.weight.tile, numbers, of_rows, out);
  }
  const absl::Span<const float> all(numbers.data(), static_cast<size_t>(numbers.rows() * numbers.columns()));
  if (rows.weight.spec.format != rows.format) return QuantizeToBlocks(rows, all, choice.importance, out);
  std::memcpy(out.data(), all.data(), all.size() * sizeof(float));
  return absl::OkStatus();
}

}  // namespace tessera
