// The least work of a pass: the bytes that it must read and the operations that it must do, counted from the model's tensors.
//
//   const PassWork work = PassWorkOf(*engine, {.rows = 512, .wanted = 1, .depth = 4096});
//   const double seconds = work.Bytes() / bytes_per_second;                  // no engine is faster while memory is the limit
//
// A pass takes `rows` tokens of one sequence that has `depth` tokens before. The last layer's result is wanted for the last `wanted` rows
// (in a prompt for one), and logits for the last row. Counted are packed weights (except an embedding table that is not the head: its rows
// are little), keys and values once per pass, products of matrices, and those of attention; not norms, activations, softmax and rounding.
// An operation is a multiplication or an addition. Thread-safe.
#pragma once

#include <array>

#include "tessera/quant/block_format.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct PassWork {
  double weight_bytes = 0;
  double kv_bytes = 0;
  std::array<double, kBlockFormats> products = {};  // Operations with matrices of each format; those in tiles count as F32.
  double attention = 0;                             // Operations of attention, in FP32.

  double Bytes() const { return weight_bytes + kv_bytes; }

  // Seconds that the products take at these peaks (operations per second): formats with 8-bit activations at `int8`, plain floats at
  // `fp32`. If `reachable`, each is divided by the share of the peak that its format can reach.
  double ProductSeconds(double int8, double fp32, bool reachable) const;
};

struct PassSize {  // REQUIRES: 1 <= wanted <= rows.
  int rows = 1;
  int wanted = 1;
  int depth = 0;
};
PassWork PassWorkOf(Engine& engine, const PassSize& pass);
// The part of the work that depends on weights; known before they are loaded.
PassWork WeightWorkOf(const Engine& engine, const PassSize& pass);

// The share of the INT8 peak that kernels of a format can reach: besides the products, each group of 32 has scales (and minima), which are
// applied on the same units. docs/benchmarks.md explains the numbers.
double ReachableShare(BlockFormat format);

}  // namespace tessera
