#include "tessera/quant/kernels/tile_kernel_table.h"
#include "tessera/tensor/kernels/lanes_avx2.h"

namespace tessera {

const TileKernels kTilesAvx2 = TileKernelTable<LanesAvx2>(KernelPath::kAvx2);

}  // namespace tessera
