// The blocks of GGUF from the numbers that they stand for, where one scale and its codes give each number exactly.
//
//   if (!MakeExactBlocks(BlockFormat::kQ4_0, numbers, /*count=*/64, blocks)) Report("no Q4_0 numbers");
//
// A packed file keeps its matrices in panels, of which only numbers are read; tiles that hold a file's numbers exactly are made from
// blocks. Thread-safe (pure function).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/block_format.h"

namespace tessera {

// Writes, among blocks that give these numbers, the one that GGUF tools would write most likely. False if there is none, for example for a
// NaN. REQUIRES: Q4_0, IQ4_NL or Q8_0; count a multiple of 32; `blocks` has room for them.
bool MakeExactBlocks(BlockFormat format, const float* numbers, int64_t count, std::byte* blocks);

}  // namespace tessera
