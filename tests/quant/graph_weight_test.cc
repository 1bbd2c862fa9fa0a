#include "tessera/quant/graph_weight.h"

#include <gtest/gtest.h>

#include "tessera/base/status_macros.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera {
namespace {

TEST(GraphWeight, HeaderExample) {
  const auto example = [](int64_t* out) -> absl::Status {
    GraphWeight weight = {.spec = {"ffn_up.weight", BlockFormat::kQ4_1, 1536, 576}, .vector = false};
    ASSIGN_OR_RETURN(int64_t bytes, WeightBytes(weight, WeightEncoding::kPacked));
    *out = bytes;
    weight.tile = TileScheme{TileCode::kInt4, TileScales::kTileGroup};
    EXPECT_EQ(*WeightBytes(weight, WeightEncoding::kTiles), int64_t{1536 / 32} * (576 / 32) * 576);
    return absl::OkStatus();
  };
  int64_t bytes = 0;
  ASSERT_TRUE(example(&bytes).ok());
  EXPECT_EQ(bytes, *PackedMatrix::BytesFor({"", BlockFormat::kQ4_1, 1536, 576}));
}

TEST(GraphWeight, WeightBytesFollowTheEncoding) {
  const GraphWeight vector = {{"norm", BlockFormat::kF32, 100, 1}, true};
  const GraphWeight matrix = {{"up", BlockFormat::kQ8_0, 10, 64}, false};
  EXPECT_EQ(*WeightBytes(vector, WeightEncoding::kPacked), 400);
  EXPECT_EQ(*WeightBytes(vector, WeightEncoding::kFloat32), 400);
  EXPECT_EQ(*WeightBytes(matrix, WeightEncoding::kFloat32), 2560);
  EXPECT_EQ(*WeightBytes(matrix, WeightEncoding::kPacked), *PackedMatrix::BytesFor(matrix.spec));
}

TEST(GraphWeight, OnlyMatricesWithASchemeLieInTiles) {
  GraphWeight matrix = {{"up", BlockFormat::kF32, 33, 65}, false};
  EXPECT_EQ(*WeightBytes(matrix, WeightEncoding::kTiles), *PackedMatrix::BytesFor(matrix.spec));
  matrix.tile = TileScheme{TileCode::kInt8, TileScales::kCommonGroup};
  EXPECT_EQ(*WeightBytes(matrix, WeightEncoding::kTiles), 2 * 3 * (1024 + 64)) << "padded to 2 panels of 3 tiles";
  EXPECT_EQ(*WeightBytes(matrix, WeightEncoding::kPacked), *PackedMatrix::BytesFor(matrix.spec));
  EXPECT_EQ(*WeightBytes({{"norm", BlockFormat::kF32, 1, 100}, true}, WeightEncoding::kTiles), 400);
  matrix.spec.in_features = TileMatrix::kMostInputs + 1;
  EXPECT_EQ(WeightBytes(matrix, WeightEncoding::kTiles).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GraphWeight, WeightBytesThatOverflowAreErrors) {
  const GraphWeight matrix = {{"up", BlockFormat::kF32, int64_t{1} << 40, int64_t{1} << 22}, false};
  EXPECT_EQ(WeightBytes(matrix, WeightEncoding::kFloat32).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(WeightBytes({matrix.spec, true}, WeightEncoding::kPacked).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera
