// What the host's attention kernels write into a tile's scratch: AttentionScratch floats, and no more.
#include <array>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/half.h"
#include "tessera/npu/flash_attention.h"
#include "tessera/npu/host/internal/row_kernels.h"

namespace tessera {
namespace {

constexpr int kHead = 20, kLength = 70;   // No multiples of sixteen.
constexpr float kMark = 12345;
constexpr int64_t kScratch = AttentionScratch(kLength, kHead), kGuard = 256;

// Six queries that attend to all positions, over a cache of zeros.
class ScratchOfTile {
 public:
  ScratchOfTile()
      : cache_(size_t{16384}), scratch_(static_cast<size_t>(kScratch + kGuard), kMark), queries_(AttentionTile::kMost * kHead, 1.0f),
        y_(queries_.size()) {
    tile_.count = AttentionTile::kMost;
    tile_.keys = tile_.values = cache_.data();
    tile_.head_size = kHead;
    tile_.scale = HalfToFloat(FloatToHalf(ScoreScale(0.25f)));
    tile_.scratch = scratch_.data();
    for (int q = 0; q < AttentionTile::kMost; ++q) {
      tile_.query[q] = queries_.data() + q * kHead;
      tile_.y[q] = y_.data() + q * kHead;
      tile_.path[q] = path_;
      tile_.begin[q] = 0;
      tile_.end[q] = kLength;
    }
  }

  const AttentionTile& tile() const { return tile_; }
  float at(int64_t i) const { return scratch_[static_cast<size_t>(i)]; }
  bool IsGuarded() const {
    for (int64_t i = kScratch; i < kScratch + kGuard; ++i) {
      if (at(i) != kMark) return false;
    }
    return true;
  }

 private:
  const std::array<SlotRange, 1> path_ = {SlotRange{0, kLength}};
  std::vector<std::byte> cache_;
  std::vector<float> scratch_, queries_, y_;
  AttentionTile tile_;
};

// Scores, sums and rounded queries: with one ValueStride less for each query, the last sums would lie behind the scratch.
TEST(AttentionScratch, IsExactlyTheScratchOfFp16Attention) {
  for (const KernelPath path : SupportedKernelPaths()) {
    for (const int kv_block : {16, 512}) {
      const ScratchOfTile scratch;
      RowKernelsFor(path).attend_halves(scratch.tile(), kv_block, HmxExp::kTable);
      EXPECT_TRUE(scratch.IsGuarded()) << KernelPathName(path) << " blocks of " << kv_block;
      if (kv_block < kLength) continue;
      EXPECT_NE(scratch.at(kScratch - 1), kMark) << KernelPathName(path) << ": all of it is used";
    }
  }
}

TEST(AttentionScratch, HoldsTheScratchOfFp32Attention) {
  for (const KernelPath path : SupportedKernelPaths()) {
    const ScratchOfTile scratch;
    RowKernelsFor(path).attend(scratch.tile());
    EXPECT_TRUE(scratch.IsGuarded()) << KernelPathName(path);
  }
}

}  // namespace
}  // namespace tessera
