#include "tessera/npu/host/internal/tile_cut.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(TileCuts, EveryQueryIsInOneTileOfOneHead) {
  for (const int workers : {1, 2, 3, 5, 16}) {
    for (const int64_t heads : {1, 2, 3, 8}) {
      for (int64_t per_head = 1; per_head <= 40; ++per_head) {
        std::vector<int> times(heads * per_head);
        for (int w = 0; w < workers; ++w) {
          const TileCut share = TileCut::OfWorker(w, workers, heads, per_head);
          for (int64_t i = 0; i < share.tiles(); ++i) {
            const Share tile = share.Tile(i);
            ASSERT_LT(tile.begin, tile.end) << workers << " " << heads << " " << per_head << " " << i;
            ASSERT_LE(tile.end - tile.begin, AttentionTile::kMost);
            ASSERT_EQ(tile.begin / per_head, (tile.end - 1) / per_head);
            for (int64_t q = tile.begin; q < tile.end; ++q) ++times[q];
          }
        }
        ASSERT_EQ(times, std::vector<int>(heads * per_head, 1)) << workers << " " << heads << " " << per_head;
      }
    }
  }
}

TEST(TileCuts, ThereIsNothingBehindTheLast) {
  for (int64_t per_head = 1; per_head <= 40; ++per_head) {
    const TileCut share = TileCut::OfWorker(0, 2, /*heads=*/3, per_head);
    for (int64_t i = share.tiles(); i < share.tiles() + 9; ++i) EXPECT_EQ(share.Tile(i).begin, share.Tile(i).end) << per_head << " " << i;
  }
}

TEST(TileCuts, HeaderExample) {
  const TileCut share = TileCut::OfWorker(/*worker=*/0, /*workers=*/2, /*heads=*/3, /*per_head=*/18);
  int64_t queries = 0;
  for (int64_t i = 0; i < share.tiles(); ++i) queries += share.Tile(i).end - share.Tile(i).begin;
  EXPECT_EQ(share.tiles(), 5);
  EXPECT_EQ(queries, 27);  // Four tiles and a half.
}

}  // namespace
}  // namespace tessera
