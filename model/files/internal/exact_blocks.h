// Makes GGUF blocks from the numbers of the blocks, if one scale and codes give each number exactly.
//
//   if (!MakeExactBlocks(BlockFormat::kQ4_0, numbers, /*count=*/64, blocks)) Report("no Q4_0 numbers");
//
// A packed file keeps matrices in panels, and only numbers are read from panels. Tiles that hold a file's numbers exactly are made from
// blocks. Thread-safe (pure function).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/quant/block_format.h"

namespace tessera {

// Writes, among the blocks with these numbers, the block that GGUF tools would most likely write. Returns false if there is none, for
// example for a NaN. REQUIRES: Q4_0, IQ4_NL or Q8_0; count a multiple of 32; `blocks` has room for all blocks.
bool MakeExactBlocks(BlockFormat format, const float* numbers, int64_t count, std::byte* blocks);

}  // namespace tessera
