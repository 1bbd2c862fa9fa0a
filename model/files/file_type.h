// The number in general.file_type for a model whose matrices have a block format. Some readers refuse a file without this number.
//
//   writer.Number("general.file_type", FileTypeOf(BlockFormat::kQ4_0));   // 2
//
// Threads: thread-safe (a pure function).
#pragma once

#include <cstdint>

#include "tessera/quant/block_format.h"

namespace tessera {

// Returns 1024 for a format without a number: readers then look at the tensors instead.
uint32_t FileTypeOf(BlockFormat format);

}  // namespace tessera
