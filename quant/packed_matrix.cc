#include "tessera/quant/packed_matrix.h"

#include <glog/logging.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/internal/panels/panel_format.h"

namespace tessera {
namespace {

absl::Status SizeError(const MatrixSpec& spec, const absl::AlphaNum& what, int64_t found, const absl::AlphaNum& expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(spec.name, " (", InfoOf(spec.format).name, " ", spec.out_features, " x ", spec.in_features, "): ", what,
                   ": found ", found, ", expected ", expected));
}

}  // namespace

PanelShape PanelShape::Of(const MatrixSpec& spec) {
  static_assert(kOutputs == PanelFormat::kOutputs);
  return {.format = spec.format,
          .float_activations = PanelFormatOf(spec.format).float_activations,
          .out_features = spec.out_features,
          .in_features = spec.in_features,
          .panels = CeilDiv(spec.out_features, kOutputs),
          .panel_bytes = PanelBytes(spec.format, spec.in_features)};
}

absl::StatusOr<int64_t> PackedMatrix::BytesFor(const MatrixSpec& spec) {
  if (spec.out_features < 1) return SizeError(spec, "out_features", spec.out_features, ">= 1");
  if (spec.in_features < 1) return SizeError(spec, "in_features", spec.in_features, ">= 1");
  const int block = InfoOf(spec.format).values_per_block;
  if (spec.in_features % block != 0) return SizeError(spec, absl::StrCat("in_features modulo ", block), spec.in_features % block, 0);
  RETURN_IF_ERROR(BytesOfRows(spec.format, spec.out_features, spec.in_features).status());
  const PanelFormat& panel = PanelFormatOf(spec.format);
  ASSIGN_OR_RETURN(const int64_t panel_bytes, CheckedMul(spec.in_features / panel.inputs_per_block, panel.bytes_per_block));
  return CheckedMul(CeilDiv(spec.out_features, PanelFormat::kOutputs), panel_bytes);
}

absl::Status PackedMatrix::Pack(const MatrixSpec& spec, absl::Span<const std::byte> gguf_bytes, absl::Span<std::byte> packed) {
  ASSIGN_OR_RETURN(const int64_t packed_bytes, BytesFor(spec));
  ASSIGN_OR_RETURN(const int64_t source_bytes, BytesOfRows(spec.format, spec.out_features, spec.in_features));
  const int64_t found_source = static_cast<int64_t>(gguf_bytes.size()), found_packed = static_cast<int64_t>(packed.size());
  if (found_source != source_bytes) return SizeError(spec, "GGUF bytes", found_source, source_bytes);
  if (found_packed != packed_bytes) return SizeError(spec, "packed bytes", found_packed, packed_bytes);
  const PanelFormat& panel = PanelFormatOf(spec.format);
  const int64_t row_bytes = source_bytes / spec.out_features, panel_bytes = PanelBytes(spec.format, spec.in_features);
  for (int64_t row = 0; row < spec.out_features; row += PanelFormat::kOutputs) {
    const int rows = static_cast<int>(std::min<int64_t>(PanelFormat::kOutputs, spec.out_features - row));
    panel.pack(gguf_bytes.data() + row * row_bytes, row_bytes, rows, spec.in_features,
               packed.data() + row / PanelFormat::kOutputs * panel_bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<PackedMatrix> PackedMatrix::Open(const MatrixSpec& spec, absl::Span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const int64_t expected, BytesFor(spec));
  const int64_t found = static_cast<int64_t>(bytes.size());
  if (found != expected) return SizeError(spec, "packed bytes", found, expected);
  const int64_t misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(bytes.data()) % 64);
  if (misaligned != 0) return SizeError(spec, "address modulo 64", misaligned, 0);
  return PackedMatrix(PanelShape::Of(spec), bytes.data());
}

void PackedMatrix::ReadRow(int64_t row, float* out) const {
  DCHECK(row >= 0 && row < out_features());
  PanelFormatOf(format()).read_row(data_ + row / PanelShape::kOutputs * shape_.panel_bytes, static_cast<int>(row % PanelShape::kOutputs),
                                   in_features(), out);
}

}  // namespace tessera
