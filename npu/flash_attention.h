// FP16 FlashAttention as a phone NPU computes it: Algorithm 1 of paper 001, for one query and one head, on any CPU.
//
//   HmxAttention attention = {.block = 512, .head_size = 64, .scale = FloatToHalf(ScoreScale(1.0f / 8))};
//   HmxAttend(attention, query, keys, values, /*first=*/0, /*end=*/100, y);      // keys, values: [positions, head_size], all FP16
//
// Line by line: S = Q K^T, FP32 sums, times the scale, rounded once (2); m, the largest so far, FP16 (3); P = 2^(S - m) by ExpTable (4);
// l, the total, 16 FP32 sums by position mod 16, joined by the tree of all lanes, rounded once per block (5); O = O 2^(m' - m) + P V, FP32
// sums rounded once per block (6); y = O (1 / l), both rounded. Softmax is of base 2, so the scale has log2(e) in it (section 5.2.1).
// Blocks begin at multiples of `block` positions of the text, wherever the query's window begins, and a block without any position is
// skipped: so a row's bits depend on its own tokens alone, and not on how a prompt was cut. Other sums are FMA chains in ascending order;
// a phone's sums may be wider, which is not known. This is the definition; HmxDevice computes the same bits with the host's vector unit.
//
// What is no number, or too large: a score beyond FP16 is an infinity, as the matrix unit's output is; +infinity as the largest gives
// NaN, a NaN gives NaN, and scores of -infinity weigh nothing, so that a row of them alone gives zeros; but a value that FP16 cannot hold
// is an infinity, and nothing times an infinity is NaN. A total beyond FP16 (more than 65,504 positions as likely as the likeliest) is an
// infinity, and gives zeros. Thread-safe (pure function).
#pragma once

#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

// Where 2^x comes from. kExact: computed in FP32 from S - m unrounded, and rounded to FP16: to measure what
// the table costs. There a NaN weighs nothing.
enum class HmxExp : uint8_t { kTable, kExact };

struct HmxAttention {
  int block = 512;          // Positions of keys and values that are computed at once.
  int head_size = 0;
  uint16_t scale = 0;       // FP16, with log2(e) in it.
  HmxExp exp = HmxExp::kTable;
};

// The scale of scores for softmax of base 2.
float ScoreScale(float scale);

// query: [head_size]; keys, values: [end, head_size], of which those before `first` are not read; y: [head_size]. All FP16. REQUIRES:
// 0 <= first < end, block >= 1.
void HmxAttend(const HmxAttention& attention, const uint16_t* query, const uint16_t* keys, const uint16_t* values, int first, int end,
               uint16_t* y);

}  // namespace tessera
