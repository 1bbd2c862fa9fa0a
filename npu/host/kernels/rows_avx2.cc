#include "tessera/npu/host/kernels/row_kernel_table.h"
#include "tessera/tensor/kernels/lanes_avx2.h"

namespace tessera {

const RowKernels kRowAvx2 = RowKernelTable<LanesAvx2>();

}  // namespace tessera
