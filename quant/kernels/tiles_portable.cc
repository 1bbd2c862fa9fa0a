#include "tessera/quant/kernels/tile_kernel_table.h"
#include "tessera/tensor/kernels/lanes_portable.h"

namespace tessera {

const TileKernels kTilesPortable = TileKernelTable<LanesPortable>(KernelPath::kPortable);

}  // namespace tessera
