// Whole decoder blocks of HostDevice against ReferenceDevice, in shapes drawn by chance.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/varied_block.h"

namespace tessera {
namespace {

std::string Describe(const VariedShape& s) {
  return absl::StrCat("width ", s.width, " inner ", s.inner, " heads ", s.heads, "/", s.kv_heads, " x ", s.head_size, " rope ",
                      s.rope_dimensions, s.pairs == RopePairs::kAdjacent ? " adjacent" : " halves", " window ", s.window,
                      " bias ", s.bias, " head norms ", s.head_norms, " post norms ", s.post_norms, " fine values ",
                      s.fine_values);
}

// Everything but formats and widths.
VariedShape DrawShape(SeededRandom& random, int head_size, int group) {
  VariedShape shape;
  shape.head_size = head_size;
  shape.kv_heads = 1 + static_cast<int>(random.Below(3));
  shape.heads = group * shape.kv_heads;
  shape.rope_dimensions = random.Below(2) == 0 ? head_size : 2 * (1 + static_cast<int>(random.Below(head_size / 2)));
  shape.pairs = random.Below(2) == 0 ? RopePairs::kAdjacent : RopePairs::kHalves;
  shape.window = random.Below(2) == 0 ? 0 : 1 + static_cast<int>(random.Below(20));
  shape.bias = random.Below(2) == 0;
  shape.head_norms = random.Below(2) == 0;
  shape.post_norms = random.Below(2) == 0;
  shape.activation = random.Below(2) == 0 ? Activation::kSilu : Activation::kGeluTanh;
  shape.fine_values = random.Below(2) == 0;
  return shape;
}

// The largest difference of a row, in units of the root mean square of what the block added to its input.
double WorstRow(const VariedShape& shape, int threads) {
  constexpr int kRows = 23;
  PairedRun paired(VariedBlock(shape), {.kv_heads = shape.kv_heads, .head_size = shape.head_size, .slots = 32});
  ReferenceDevice reference;
  ThreadPool pool(threads);
  HostDevice device(pool);
  const RowOutputs expected = paired.On(reference, Chain(kRows));
  RowOutputs found = paired.On(device, Chain(kRows - 1));  // The last row alone: another way through the device.
  found.push_back(paired.On(device, Chain(1, kRows - 1))[0]);
  double worst = 0;
  for (int r = 0; r < kRows; ++r) {
    const std::vector<float> input = paired.Input(0, r);
    double squares = 0, added = 0;
    for (size_t c = 0; c < input.size(); ++c) {
      squares += std::pow(double{found[r][c]} - expected[r][c], 2);
      added += std::pow(double{expected[r][c]} - input[c], 2);
    }
    worst = std::isnan(squares) ? INFINITY : std::max(worst, std::sqrt(squares / added));
  }
  return worst;
}

// Weights in floats leave one difference worth naming: keys and values rounded to FP16, 2^-11 of each at most. A key's error
// moves a score, and so a weight, by 2^-11 of |q| |k| scale; both are near sqrt(head_size), scale is 1 / head_size: by about
// 2^-11 again. The products that follow carry a relative error on as it is; the activation may double it.
TEST(HostBlock, FloatWeightsDifferByTheCachesRoundingAlone) {
  SeededRandom random(20);
  for (int head_size : {16, 20, 64, 80, 256}) {
    for (int group : {1, 2, 3, 4, 8}) {
      VariedShape shape = DrawShape(random, head_size, group);
      shape.width = 17 + random.Below(80);  // Narrower, what the block adds may cancel out.
      shape.inner = 17 + random.Below(150);
      shape.formats = {BlockFormat::kF32, BlockFormat::kBF16, BlockFormat::kF16};
      EXPECT_LT(WorstRow(shape, 1 + group % 3), 2 * 0x1p-11) << Describe(shape);
    }
  }
}

// Rounding a group of 32 to 8 bits errs by a step / sqrt(12), a step being its largest magnitude / 127. For numbers spread like
// those here the largest of 32 is 2 to 2.5 times their root mean square: 0.45 to 0.57 % of it. Four products follow one another
// (v, o, up, down), and q, k and gate err beside them: seven independent errors make up 7^0.5 x 0.57 % = 1.5 % of what they add,
// and a row in a hundred is twice as far.
TEST(HostBlock, BlockWeightsDifferByTheRoundingOfActivations) {
  SeededRandom random(21);
  const std::vector<BlockFormat> small = {BlockFormat::kQ4_0, BlockFormat::kQ4_1, BlockFormat::kQ5_0, BlockFormat::kQ8_0};
  const std::vector<BlockFormat> all = {BlockFormat::kQ4_K, BlockFormat::kQ8_0, BlockFormat::kQ6_K, BlockFormat::kF16,
                                        BlockFormat::kQ4_1, BlockFormat::kQ6_K, BlockFormat::kQ4_0};
  for (int head_size : {16, 32, 64, 96, 256}) {
    for (int group : {1, 2, 3, 4, 8}) {
      VariedShape shape = DrawShape(random, head_size, group);
      if (shape.heads * head_size % 32 != 0) shape.heads *= 2, shape.kv_heads *= 2;
      const bool large = shape.heads * head_size % 256 == 0;  // Whole K blocks for the output projection.
      shape.width = large ? 256 : 32 * (1 + random.Below(5));
      shape.inner = large ? 512 : 32 * (1 + random.Below(7));
      shape.formats = large ? all : small;
      EXPECT_LT(WorstRow(shape, 1 + group % 3), 0.03) << Describe(shape);
    }
  }
}

}  // namespace
}  // namespace tessera
