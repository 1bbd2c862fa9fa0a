#include "tessera/quant/tile_scheme.h"

#include <algorithm>
#include <vector>

#include <glog/logging.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/half.h"
#include "tessera/quant/codebook.h"

namespace tessera {
namespace {

constexpr std::array<float, 16> kNf4 = {-1.0f, -0.6961928f, -0.5250731f, -0.3949175f, -0.2844414f, -0.1847734f, -0.0910500f, 0.0f,
                                        0.0795803f, 0.1609302f, 0.2461123f, 0.3379152f, 0.4407098f, 0.5626170f, 0.7229568f, 1.0f};
constexpr int kTables = 4;   // The codes of 4 bits come first.

std::array<uint16_t, 16> Halves(TileCode code) {
  std::array<uint16_t, 16> halves = {};
  for (size_t i = 0; i < halves.size(); ++i) {
    float number = 0;
    if (code == TileCode::kInt4) number = static_cast<float>(static_cast<int>(i) - 8);
    if (code == TileCode::kIq4Nl) number = kIq4NlCodebook[i];
    if (code == TileCode::kFp4) number = 0.5f * static_cast<float>(kFp4Codebook[i]);
    if (code == TileCode::kNf4) number = kNf4[i];
    halves[i] = FloatToHalf(number);
  }
  return halves;
}

constexpr absl::string_view kScalesNames[kTileScales] = {"tile", "common", "channel", "tensor"};
constexpr absl::string_view kInputNames[] = {"", "-a8", "-a16"};   // In the order of TileInput.

// All schemes with FP16 rows.
std::vector<TileScheme> AllSchemes() {
  std::vector<TileScheme> all;
  for (int code = 0; code < kTileCodes; ++code) {
    const bool has_scales = static_cast<TileCode>(code) != TileCode::kHalf;
    for (int scales = 0; scales < (has_scales ? kTileScales : 1); ++scales) {
      all.push_back({static_cast<TileCode>(code), static_cast<TileScales>(scales)});
    }
  }
  return all;
}

}  // namespace

absl::string_view TileCodeName(TileCode code) {
  static constexpr absl::string_view kNames[kTileCodes] = {"int4", "iq4_nl", "nf4", "fp4", "int8", "fp16"};
  return kNames[static_cast<size_t>(code)];
}

std::string TileSchemeName(TileScheme scheme) {
  std::string name(TileCodeName(scheme.code));
  if (scheme.code != TileCode::kHalf) absl::StrAppend(&name, "-", kScalesNames[static_cast<size_t>(scheme.scales)]);
  return absl::StrCat(name, kInputNames[static_cast<size_t>(scheme.input)]);
}

absl::StatusOr<TileScheme> TileSchemeByName(absl::string_view name) {
  const std::vector<TileScheme> all = AllSchemes();
  for (TileScheme scheme : all) {
    for (const TileInput input : {TileInput::kHalf, TileInput::kInt8, TileInput::kInt16}) {
      scheme.input = input;
      if (TileSchemeName(scheme) == name) return scheme;
    }
  }
  const auto append = [](std::string* out, TileScheme scheme) { absl::StrAppend(out, TileSchemeName(scheme)); };
  return absl::NotFoundError(absl::StrCat("tile scheme: found \"", name.substr(0, 32), "\", expected one of ",
                                          absl::StrJoin(all, ", ", append), ", or one of them and -a8 or -a16"));
}

const std::array<uint16_t, 16>& TileTable(TileCode code) {
  static const std::array<std::array<uint16_t, 16>, kTables>* const tables = [] {
    auto* const all = new std::array<std::array<uint16_t, 16>, kTables>;
    for (int i = 0; i < kTables; ++i) (*all)[static_cast<size_t>(i)] = Halves(static_cast<TileCode>(i));
    return all;
  }();
  CHECK_EQ(BitsOf(code), 4) << TileCodeName(code) << " has no table";
  return (*tables)[static_cast<size_t>(code)];
}

}  // namespace tessera
