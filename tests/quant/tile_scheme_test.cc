#include "tessera/quant/tile_scheme.h"

#include <cmath>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr TileCode kFourBits[] = {TileCode::kInt4, TileCode::kIq4Nl, TileCode::kNf4, TileCode::kFp4};

float Number(TileCode code, int i) { return HalfToFloat(TileTable(code)[static_cast<size_t>(i)]); }

TEST(TileScheme, HeaderExample) {
  const TileScheme scheme = {TileCode::kInt4, TileScales::kTileGroup};
  const TileScheme same = Must(TileSchemeByName("int4-tile"));
  int64_t bytes = TileBytes(scheme);
  EXPECT_EQ(same, scheme);
  EXPECT_EQ(TileSchemeName(scheme), "int4-tile");
  EXPECT_EQ(bytes, 576);
}

TEST(TileScheme, EachSchemeIsFoundByItsName) {
  std::set<std::string> names;
  for (int code = 0; code < kTileCodes; ++code) {
    for (int scales = 0; scales < (static_cast<TileCode>(code) == TileCode::kHalf ? 1 : kTileScales); ++scales) {
      for (const TileInput input : {TileInput::kHalf, TileInput::kInt8, TileInput::kInt16}) {
        const TileScheme scheme = {static_cast<TileCode>(code), static_cast<TileScales>(scales), input};
        names.insert(TileSchemeName(scheme));
        EXPECT_EQ(Must(TileSchemeByName(TileSchemeName(scheme))), scheme) << TileSchemeName(scheme);
      }
    }
  }
  EXPECT_EQ(names.size(), 3u * (5 * 4 + 1));
  for (const char* name : {"nf4-common", "int8-channel", "int4-tensor", "fp16", "int4-channel-a8", "iq4_nl-tile-a16"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(TileScheme, AnUnknownNameIsNotFoundAndTheKnownOnesAreSaid) {
  for (const char* name : {"", "int4", "int4-", "int4-tile-a4", "fp16-tile", "INT4-tile", "int4-tile "}) {
    const absl::Status status = TileSchemeByName(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << name;
    EXPECT_NE(std::string(status.message()).find("nf4-common"), std::string::npos) << status;
    EXPECT_NE(std::string(status.message()).find("-a16"), std::string::npos) << status;
  }
}

TEST(TileScheme, ATileHasTheBytesOfItsCodesAndScales) {
  EXPECT_EQ(TileBytes({TileCode::kNf4, TileScales::kCommonGroup}), 576);
  EXPECT_EQ(TileBytes({TileCode::kInt8, TileScales::kTileGroup}), 1088);
  EXPECT_EQ(TileBytes({TileCode::kInt8, TileScales::kCommonGroup}), 1088);
  EXPECT_EQ(TileBytes({TileCode::kInt4, TileScales::kChannel}), 512);
  EXPECT_EQ(TileBytes({TileCode::kInt8, TileScales::kTensor}), 1024);
  EXPECT_EQ(TileBytes({TileCode::kHalf, TileScales::kTileGroup}), 2048);
}

TEST(TileScheme, TablesHoldTheNumbersOfTheirCodes) {
  for (int i = 0; i < 16; ++i) EXPECT_EQ(Number(TileCode::kInt4, i), i - 8);
  EXPECT_EQ(Number(TileCode::kIq4Nl, 0), -127);
  EXPECT_EQ(Number(TileCode::kIq4Nl, 8), 1);
  EXPECT_EQ(Number(TileCode::kNf4, 0), -1);
  EXPECT_EQ(Number(TileCode::kNf4, 7), 0);
  EXPECT_EQ(Number(TileCode::kNf4, 15), 1);
  EXPECT_EQ(Number(TileCode::kFp4, 7), 6);
  EXPECT_EQ(Number(TileCode::kFp4, 15), -6);
  for (const TileCode code : kFourBits) {
    for (int i = 1; i < 16; ++i) {
      EXPECT_TRUE(std::isfinite(Number(code, i)));
      if (code == TileCode::kFp4) continue;   // A sign and a magnitude.
      EXPECT_LT(Number(code, i - 1), Number(code, i)) << TileCodeName(code);
    }
  }
}

}  // namespace
}  // namespace tessera
