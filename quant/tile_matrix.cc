#include "tessera/quant/tile_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/internal/tiles/tile_places.h"
#include "tessera/quant/internal/tiles/tile_quantizer.h"

namespace tessera {
namespace {

absl::Status WrongSize(const MatrixSpec& spec, TileScheme scheme, const absl::AlphaNum& what, const absl::AlphaNum& found,
                       const absl::AlphaNum& expected) {
  return absl::InvalidArgumentError(absl::StrCat(spec.name, " (", TileSchemeName(scheme), " ", spec.out_features, " x ", spec.in_features,
                                                 "): ", what, ": found ", found, ", expected ", expected));
}

absl::Status CheckSize(const MatrixSpec& spec, TileScheme scheme, const absl::AlphaNum& what, size_t found, int64_t expected) {
  if (static_cast<int64_t>(found) == expected) return absl::OkStatus();
  return WrongSize(spec, scheme, what, found, expected);
}

absl::Status CheckNumber(const MatrixSpec& spec, TileScheme scheme, const absl::AlphaNum& what, float found) {
  if (std::isfinite(found) && found >= 0) return absl::OkStatus();
  return WrongSize(spec, scheme, what, found, "a finite number, not negative");
}

uint16_t HalfAt(const std::byte* p) {
  uint16_t half;
  std::memcpy(&half, p, sizeof half);
  return half;
}

// Numbers of the codes.
class CodeNumbers {
 public:
  explicit CodeNumbers(TileCode code) : code_(code) {
    if (BitsOf(code) == 4) std::transform(TileTable(code).begin(), TileTable(code).end(), table_.begin(), HalfToFloat);
  }
  // `at`: the byte with the code.
  float At(const std::byte* at, int shift) const {
    if (code_ == TileCode::kHalf) return HalfToFloat(HalfAt(at));
    if (code_ == TileCode::kInt8) return static_cast<float>(static_cast<int8_t>(*at));
    return table_[static_cast<size_t>(*at >> shift & std::byte{15})];
  }

 private:
  const TileCode code_;
  std::array<float, 16> table_ = {};
};

// The bytes of a block, of an output and 32 inputs, as codes of the scheme.
void CodesOfBlock(BlockFormat format, const std::byte* codes, uint8_t* out) {
  if (format == BlockFormat::kQ8_0) return static_cast<void>(std::memcpy(out, codes, tiles::kRun));
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<uint8_t>(codes[i] & std::byte{15});
    out[i + 16] = static_cast<uint8_t>(codes[i] >> 4);
  }
}

}  // namespace

absl::StatusOr<int64_t> TileMatrix::BytesFor(const MatrixSpec& spec, TileScheme scheme) {
  if (spec.out_features < 1) return WrongSize(spec, scheme, "out_features", spec.out_features, ">= 1");
  if (spec.in_features < 1) return WrongSize(spec, scheme, "in_features", spec.in_features, ">= 1");
  if (spec.in_features > kMostInputs) {
    return WrongSize(spec, scheme, "in_features", spec.in_features, absl::StrCat("<= ", kMostInputs, ", as the unit has memory for"));
  }
  return CheckedMul(CeilDiv(spec.out_features, kTileSide), ShapeOf(spec, scheme).panel_bytes);
}

PanelShape TileMatrix::ShapeOf(const MatrixSpec& spec, TileScheme scheme) {
  return {.format = spec.format,
          .float_activations = true,
          .out_features = spec.out_features,
          .in_features = spec.in_features,
          .panels = CeilDiv(spec.out_features, kTileSide),
          .panel_bytes = tiles::HeaderBytes(scheme) + CeilDiv(spec.in_features, kTileSide) * TileBytes(scheme)};
}

absl::Status TileMatrix::Quantize(const MatrixSpec& spec, TileScheme scheme, TensorView<const float> weights, const Choice& choice,
                                  absl::Span<std::byte> out) {
  ASSIGN_OR_RETURN(const int64_t bytes, BytesFor(spec, scheme));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "bytes", out.size(), bytes));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "rows of weights", static_cast<size_t>(weights.rows()), spec.out_features));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "columns of weights", static_cast<size_t>(weights.columns()), spec.in_features));
  RETURN_IF_ERROR(CheckNumber(spec, scheme, "largest magnitude", choice.largest));
  if (scheme.code != TileCode::kHalf && scheme.scales == TileScales::kTensor) {
    const tiles::TileEncoder encoder(scheme.code);
    if (!encoder.Holds(tiles::ScaleOf(choice.largest / std::fabs(encoder.largest())), /*products=*/false)) {
      return WrongSize(spec, scheme, "largest magnitude", choice.largest, "one whose scale FP16 holds");
    }
  }
  const int64_t inputs = choice.importance.empty() ? 0 : spec.in_features;
  RETURN_IF_ERROR(CheckSize(spec, scheme, "inputs with an importance", choice.importance.size(), inputs));
  for (int64_t i = 0; i < inputs; ++i) {
    RETURN_IF_ERROR(CheckNumber(spec, scheme, absl::StrCat("importance of input ", i), choice.importance[static_cast<size_t>(i)]));
  }
  tiles::TileQuantizer quantizer(spec, scheme, weights, choice);
  const PanelShape shape = ShapeOf(spec, scheme);
  for (int64_t p = 0; p < shape.panels; ++p) RETURN_IF_ERROR(quantizer.Panel(p, out.data() + p * shape.panel_bytes));
  return absl::OkStatus();
}

bool TileMatrix::IsExact(BlockFormat format, TileScheme scheme) {
  if (scheme.scales != TileScales::kCommonGroup) return false;
  return (format == BlockFormat::kQ4_0 && scheme.code == TileCode::kInt4) ||
         (format == BlockFormat::kIQ4_NL && scheme.code == TileCode::kIq4Nl) ||
         (format == BlockFormat::kQ8_0 && scheme.code == TileCode::kInt8);
}

absl::Status TileMatrix::Repack(const MatrixSpec& spec, TileScheme scheme, absl::Span<const std::byte> gguf_bytes,
                                absl::Span<std::byte> out) {
  CHECK(IsExact(spec.format, scheme)) << spec.name << ": " << InfoOf(spec.format).name << " as " << TileSchemeName(scheme);
  ASSIGN_OR_RETURN(const int64_t bytes, BytesFor(spec, scheme));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "bytes", out.size(), bytes));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "in_features modulo 32", static_cast<size_t>(spec.in_features % tiles::kRun), 0));
  ASSIGN_OR_RETURN(const int64_t source_bytes, BytesOfRows(spec.format, spec.out_features, spec.in_features));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "GGUF bytes", gguf_bytes.size(), source_bytes));
  const PanelShape shape = ShapeOf(spec, scheme);
  const int64_t block_bytes = InfoOf(spec.format).bytes_per_block, tile_bytes = TileBytes(scheme);
  const tiles::RunWriter writer(scheme);
  std::fill(out.begin(), out.end(), std::byte{0});
  const std::byte* block = gguf_bytes.data();
  for (int64_t row = 0; row < spec.out_features; ++row) {
    std::byte* const panel = out.data() + row / kTileSide * shape.panel_bytes;
    for (std::byte* tile = panel; tile < panel + shape.panel_bytes; tile += tile_bytes, block += block_bytes) {
      const int run = static_cast<int>(row % kTileSide);
      uint8_t codes[tiles::kRun];
      CodesOfBlock(spec.format, block + sizeof(uint16_t), codes);   // All three formats begin with their scale.
      writer.PutScale(run, HalfAt(block), panel, tile);
      writer.PutCodes(run, codes, tile);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TileMatrix> TileMatrix::Open(const MatrixSpec& spec, TileScheme scheme, absl::Span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const int64_t expected, BytesFor(spec, scheme));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "bytes", bytes.size(), expected));
  RETURN_IF_ERROR(CheckSize(spec, scheme, "address modulo 64", reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0));
  return TileMatrix(ShapeOf(spec, scheme), scheme, bytes.data());
}

void TileMatrix::ReadRow(int64_t row, float* out) const {
  DCHECK(row >= 0 && row < shape_.out_features);
  const int output = static_cast<int>(row % kTileSide);
  const std::byte* const panel = data_ + row / kTileSide * shape_.panel_bytes;
  const CodeNumbers numbers(scheme_.code);
  for (int64_t i = 0; i < shape_.in_features; ++i) {
    const std::byte* const tile = panel + tiles::HeaderBytes(scheme_) + i / kTileSide * TileBytes(scheme_);
    const int input = static_cast<int>(i % kTileSide);
    const tiles::CodePlace place = tiles::PlaceOfCode(scheme_, input, output);
    out[i] = numbers.At(tile + place.byte, place.shift);
    if (scheme_.code == TileCode::kHalf) continue;
    const tiles::ScalePlace scale = tiles::PlaceOfScale(scheme_, input, output);
    out[i] *= HalfToFloat(HalfAt((scale.in_header ? panel : tile) + scale.byte));
    if (tiles::HasGroups(scheme_)) out[i] = HalfToFloat(FloatToHalf(out[i]));
  }
}

}  // namespace tessera
