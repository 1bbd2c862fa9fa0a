#include "tessera/quant/kernels/tile_kernel_table.h"
#include "tessera/tensor/kernels/lanes_avx512.h"

namespace tessera {

const TileKernels kTilesAvx512 = TileKernelTable<LanesAvx512>(KernelPath::kAvx512Vnni);

}  // namespace tessera
