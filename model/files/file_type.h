// The number that general.file_type has for a model whose matrices are of a block format; some readers refuse a file without it.
//
//   writer.Number("general.file_type", FileTypeOf(BlockFormat::kQ4_0));   // 2
//
// A pure function.
#pragma once

#include <cstdint>

#include "tessera/quant/block_format.h"

namespace tessera {

// 1024, by which readers look at the tensors instead, for a format that has no number.
uint32_t FileTypeOf(BlockFormat format);

}  // namespace tessera
