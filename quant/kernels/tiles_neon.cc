#include "tessera/quant/kernels/tile_kernel_table.h"
#include "tessera/tensor/kernels/lanes_neon.h"

namespace tessera {

const TileKernels kTilesNeon = TileKernelTable<LanesNeon>(KernelPath::kNeon);

}  // namespace tessera
