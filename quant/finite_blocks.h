// Finds the blocks of a tensor with a NaN or an infinity as value, scale or minimum. Files from outside may hold such blocks, and one block
// is enough to turn every logit into NaN.
//
//   const NotFiniteBlocks bad = FindNotFinite(BlockFormat::kQ4_0, bytes);
//   if (bad.count > 0) Report(bad.count, bad.first * InfoOf(BlockFormat::kQ4_0).bytes_per_block);
//
// Reads scales only, at the speed of memory: codes are finite by nature, except MXFP4's codes under the largest scales.
// Thread-safe (pure function).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "tessera/quant/block_format.h"

namespace tessera {

struct NotFiniteBlocks {
  int64_t count = 0;
  int64_t first = -1;  // Index of the first such block; -1: none.
};

// Counts the non-finite blocks. REQUIRES: `blocks` are whole blocks.
NotFiniteBlocks FindNotFinite(BlockFormat format, absl::Span<const std::byte> blocks);

}  // namespace tessera
