// FP16 FlashAttention with a phone NPU's arithmetic: Algorithm 1 of the test-time scaling paper, for one query and one head, on any CPU.
//
//   HmxAttention attention = {.block = 512, .head_size = 64, .scale = FloatToHalf(ScoreScale(1.0f / 8))};
//   HmxAttend(attention, query, keys, values, /*first=*/0, /*end=*/100, y);      // keys, values: [positions, head_size], all FP16
//
// Algorithm 1, line by line:
//   (2) S = Q K^T in FP32 sums, times the scale, rounded once
//   (3) m, the largest score so far, in FP16
//   (4) P = 2^(S - m) by ExpTable
//   (5) l, the total: 16 FP32 sums by position mod 16, joined by the tree of all lanes, rounded once per block
//   (6) O = O 2^(m' - m) + P V in FP32 sums, rounded once per block
//   last: y = O (1 / l), with 1 / l and y both rounded
// Softmax is of base 2, so the scale includes log2(e) (section 5.2.1).
//
// Blocks begin at multiples of `block` positions of the text, independent of the begin of the query's window. A block without any position
// is skipped. So a row's bits depend on the row's own tokens alone, not on the cut of the prompt into chunks. Other sums are FMA chains in
// ascending order. A phone's sums may be wider; the width is not known. This header is the definition. HmxDevice computes the same bits
// with the host's vector unit.
//
// Special values: a score beyond FP16 becomes an infinity, like an output of the matrix unit. A largest score of +infinity gives NaN, and a
// NaN gives NaN. Scores of -infinity weigh nothing, so a row of such scores alone gives zeros. A value beyond FP16 becomes an infinity, and
// a weight of zero times an infinity is NaN. A total beyond FP16 (more than 65,504 positions as likely as the likeliest) becomes an
// infinity and gives zeros.
//
// Threads: thread-safe (pure function).
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// The source of 2^x. kTable: ExpTable. kExact: computed in FP32 from the unrounded S - m, then rounded to FP16, to measure the cost of the
// table. With kExact, a NaN weighs nothing.
enum class HmxExp : uint8_t { kTable, kExact };

struct HmxAttention {
  int block = 512;          // Positions of keys and values per block.
  int head_size = 0;
  uint16_t scale = 0;       // FP16, includes log2(e).
  HmxExp exp = HmxExp::kTable;
};

// Returns the scale of scores for softmax of base 2: `scale` times log2(e).
float ScoreScale(float scale);

// Computes attention of one query over positions [first, end). query: [head_size]; keys, values: [end, head_size], rows before `first` are
// not read; y: [head_size]. All FP16. REQUIRES: 0 <= first < end, block >= 1.
void HmxAttend(const HmxAttention& attention, const uint16_t* query, const uint16_t* keys, const uint16_t* values, int first, int end,
               uint16_t* y);

}  // namespace tessera
