#include "tessera/quant/tile_group.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/codebook.h"

namespace tessera {
namespace {

using Table = std::array<float, 16>;

constexpr Table kNf4 = {-1.0f, -0.6961928f, -0.5250731f, -0.3949175f, -0.2844414f, -0.1847734f, -0.0910500f, 0.0f,
                        0.0795803f, 0.1609302f, 0.2461123f, 0.3379152f, 0.4407098f, 0.5626170f, 0.7229568f, 1.0f};

Table Numbers(TileCode code) {
  Table numbers = {};
  for (int i = 0; i < 16; ++i) {
    const size_t at = static_cast<size_t>(i);
    if (code == TileCode::kInt4) numbers[at] = static_cast<float>(i - 8);
    if (code == TileCode::kIq4Nl) numbers[at] = kIq4NlCodebook[at];
    if (code == TileCode::kFp4) numbers[at] = 0.5f * kFp4Codebook[at];
    if (code == TileCode::kNf4) numbers[at] = kNf4[at];
  }
  return numbers;
}

std::array<uint16_t, 16> Halves(TileCode code) {
  std::array<uint16_t, 16> halves = {};
  const Table numbers = Numbers(code);
  std::transform(numbers.begin(), numbers.end(), halves.begin(), FloatToHalf);
  return halves;
}

// What the number of the largest magnitude becomes: the code without a partner of the other sign where there is one.
float LargestOf(TileCode code) {
  switch (code) {
    case TileCode::kInt4: return -8;
    case TileCode::kIq4Nl: return -127;
    case TileCode::kNf4: return 1;
    case TileCode::kFp4: return 6;
    case TileCode::kInt8: break;
  }
  return 127;
}

// Halves of a table as FP32, which the nearest code is searched in.
Table Rounded(TileCode code) {
  Table rounded = {};
  const std::array<uint16_t, 16>& halves = TileTable(code);
  std::transform(halves.begin(), halves.end(), rounded.begin(), HalfToFloat);
  return rounded;
}

int NearestCode(const Table& table, float x) {
  int nearest = 0;
  for (int i = 1; i < 16; ++i) {
    if (std::fabs(table[static_cast<size_t>(i)] - x) < std::fabs(table[static_cast<size_t>(nearest)] - x)) nearest = i;
  }
  return nearest;
}

// Where the code of value e of a super-group lies.
struct CodePlace { int byte; int shift; };
constexpr CodePlace PlaceOfCode(int e) {
  const int v = e / 64, i = e % 64;
  return {2 * i + v % 2, v / 2 * 4};
}

class Quantizer {
 public:
  explicit Quantizer(TileCode code) : code_(code), table_(code == TileCode::kInt8 ? Table() : Rounded(code)), largest_(LargestOf(code)) {}

  // False: the scale of a group does not fit FP16.
  bool SuperGroup(const float* numbers, std::byte* out) const {
    std::memset(out, 0, static_cast<size_t>(SuperGroupBytes(code_)));
    for (int g = 0; g < kTileGroups; ++g) {
      const float* const group = numbers + g * kTileGroup;
      const auto smaller = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
      const float d = *std::max_element(group, group + kTileGroup, smaller) / largest_;
      const uint16_t scale = FloatToHalf(d);
      if (!std::isfinite(HalfToFloat(scale))) return false;
      std::memcpy(out + 2 * g, &scale, sizeof scale);
      const float inverse = d == 0 ? 0 : 1 / d;
      for (int t = 0; t < kTileGroup; ++t) SetCode(g * kTileGroup + t, group[t] * inverse, out + 2 * kTileGroups);
    }
    return true;
  }

 private:
  void SetCode(int e, float x, std::byte* codes) const {
    if (code_ == TileCode::kInt8) {
      codes[e] = static_cast<std::byte>(static_cast<int8_t>(std::clamp(std::nearbyint(x), -127.0f, 127.0f)));
      return;
    }
    const CodePlace place = PlaceOfCode(e);
    codes[place.byte] |= static_cast<std::byte>(NearestCode(table_, x) << place.shift);
  }

  const TileCode code_;
  const Table table_;
  const float largest_;
};

absl::Status NotFinite(absl::string_view name, TileLayout::Place place, float found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": output ", place.column, ", input ", place.row, ": found ", found, ", expected ",
                                                 expected));
}

}  // namespace

absl::string_view TileCodeName(TileCode code) {
  static constexpr absl::string_view kNames[kTileCodes] = {"int4", "iq4_nl", "nf4", "fp4", "int8"};
  return kNames[static_cast<size_t>(code)];
}

const std::array<uint16_t, 16>& TileTable(TileCode code) {
  static const std::array<std::array<uint16_t, 16>, kTileCodes - 1>* const tables = [] {
    auto* const all = new std::array<std::array<uint16_t, 16>, kTileCodes - 1>;
    for (int i = 0; i < kTileCodes - 1; ++i) (*all)[static_cast<size_t>(i)] = Halves(static_cast<TileCode>(i));
    return all;
  }();
  CHECK(code != TileCode::kInt8) << "codes of 8 bits have no table";
  return (*tables)[static_cast<size_t>(code)];
}

absl::Status QuantizeTileGroups(TileCode code, absl::string_view name, TensorView<const float> weights, const TileLayout& layout,
                                absl::Span<std::byte> out) {
  CHECK(weights.rows() == layout.columns() && weights.columns() == layout.rows()) << name;
  CHECK_EQ(static_cast<int64_t>(out.size()), TileGroupBytes(code, layout)) << name;
  const Quantizer quantizer(code);
  float numbers[kSuperGroup];
  for (int64_t first = 0; first < layout.size(); first += kSuperGroup) {
    for (int e = 0; e < kSuperGroup; ++e) {
      const TileLayout::Place place = layout.PlaceOf(first + e);
      const bool is_padding = place.row >= layout.rows() || place.column >= layout.columns();
      numbers[e] = is_padding ? 0 : weights.row(place.column)[place.row];
      if (!std::isfinite(numbers[e])) return NotFinite(name, place, numbers[e], "a finite number");
    }
    if (quantizer.SuperGroup(numbers, out.data() + first / kSuperGroup * SuperGroupBytes(code))) continue;
    return NotFinite(name, layout.PlaceOf(first), *std::max_element(numbers, numbers + kSuperGroup), "scales that FP16 holds from here on");
  }
  return absl::OkStatus();
}

void DequantizeTileGroups(TileCode code, absl::Span<const std::byte> groups, absl::Span<uint16_t> halves) {
  const int64_t bytes = SuperGroupBytes(code), count = static_cast<int64_t>(groups.size()) / bytes;
  CHECK(count * bytes == static_cast<int64_t>(groups.size()) && count * kSuperGroup == static_cast<int64_t>(halves.size()));
  const Table table = code == TileCode::kInt8 ? Table() : Rounded(code);
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
