#include "tessera/npu/host/kernels/row_kernel_table.h"
#include "tessera/tensor/kernels/lanes_neon.h"

namespace tessera {

const RowKernels kRowNeon = RowKernelTable<LanesNeon>();

}  // namespace tessera
