#include "tessera/quant/tile_group.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/internal/tiles/tile_encoder.h"

namespace tessera {
namespace {

using Table = std::array<float, 16>;

Table Numbers(TileCode code) {
  Table numbers = {};
  const std::array<uint16_t, 16>& halves = TileTable(code);
  std::transform(halves.begin(), halves.end(), numbers.begin(), HalfToFloat);
  return numbers;
}

// The place of the code of value e of a super-group.
struct CodePlace { int byte; int shift; };
constexpr CodePlace PlaceOfCode(int e) {
  const int v = e / 64, i = e % 64;
  return {2 * i + v % 2, v / 2 * 4};
}

// False: FP16 does not hold a number or the scale of its group.
bool QuantizeSuperGroup(TileCode code, const tiles::TileEncoder& encoder, const float* numbers, std::byte* out) {
  static_assert(kTileGroup == tiles::kRun);
  std::memset(out, 0, static_cast<size_t>(SuperGroupBytes(code)));
  std::byte* const to = out + 2 * kTileGroups;
  for (int g = 0; g < kTileGroups; ++g) {
    const float* const group = numbers + g * kTileGroup;
    const tiles::TileScale scale = tiles::ScaleOf(group[tiles::LargestIn(group, kTileGroup)] / encoder.largest());
    if (!encoder.Holds(scale, /*products=*/true)) return false;
    std::memcpy(out + 2 * g, &scale.half, sizeof scale.half);
    uint8_t codes[kTileGroup];
    encoder.Encode(group, scale.inverse, codes);
    for (int t = 0; t < kTileGroup; ++t) {
      const int e = g * kTileGroup + t;
      const CodePlace place = BitsOf(code) == 8 ? CodePlace{e, 0} : PlaceOfCode(e);
      to[place.byte] |= static_cast<std::byte>(codes[t] << place.shift);
    }
  }
  return true;
}

absl::Status NotFinite(absl::string_view name, TileLayout::Place place, float found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": output ", place.column, ", input ", place.row, ": found ", found, ", expected ",
                                                 expected));
}

}  // namespace

absl::Status QuantizeTileGroups(TileCode code, absl::string_view name, TensorView<const float> weights, const TileLayout& layout,
                                absl::Span<std::byte> out) {
  CHECK(weights.rows() == layout.columns() && weights.columns() == layout.rows()) << name;
  CHECK_EQ(static_cast<int64_t>(out.size()), TileGroupBytes(code, layout)) << name;
  const tiles::TileEncoder encoder(code);
  float numbers[kSuperGroup];
  for (int64_t first = 0; first < layout.size(); first += kSuperGroup) {
    for (int e = 0; e < kSuperGroup; ++e) {
      const TileLayout::Place place = layout.PlaceOf(first + e);
      const bool is_padding = place.row >= layout.rows() || place.column >= layout.columns();
      numbers[e] = is_padding ? 0 : weights.row(place.column)[place.row];
      if (!std::isfinite(numbers[e])) return NotFinite(name, place, numbers[e], "a finite number");
    }
    if (QuantizeSuperGroup(code, encoder, numbers, out.data() + first / kSuperGroup * SuperGroupBytes(code))) continue;
    const float largest = numbers[tiles::LargestIn(numbers, kSuperGroup)];
    return NotFinite(name, layout.PlaceOf(first), largest, "numbers and scales that FP16 holds from here on");
  }
  return absl::OkStatus();
}

void DequantizeTileGroups(TileCode code, absl::Span<const std::byte> groups, absl::Span<uint16_t> halves) {
  const int64_t bytes = SuperGroupBytes(code), count = static_cast<int64_t>(groups.size()) / bytes;
  CHECK(code != TileCode::kHalf) << "FP16 has no groups";
  CHECK(count * bytes == static_cast<int64_t>(groups.size()) && count * kSuperGroup == static_cast<int64_t>(halves.size()));
  const Table table = code == TileCode::kInt8 ? Table() : Numbers(code);
  for (int64_t s = 0; s < count; ++s) {
    const std::byte* const group = groups.data() + s * bytes;
    const std::byte* const codes = group + 2 * kTileGroups;
    for (int e = 0; e < kSuperGroup; ++e) {
      uint16_t scale;
      std::memcpy(&scale, group + e / kTileGroup * 2, sizeof scale);
      const CodePlace place = PlaceOfCode(e);
      const float number = code == TileCode::kInt8 ? static_cast<float>(static_cast<int8_t>(codes[e]))
                                                   : table[static_cast<size_t>(codes[place.byte] >> place.shift & std::byte{15})];
      halves[static_cast<size_t>(s * kSuperGroup + e)] = FloatToHalf(number * HalfToFloat(scale));
    }
  }
}

}  // namespace tessera
