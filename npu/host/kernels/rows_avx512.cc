#include "tessera/npu/host/kernels/row_kernel_table.h"
#include "tessera/tensor/kernels/lanes_avx512.h"

namespace tessera {

const RowKernels kRowAvx512 = RowKernelTable<LanesAvx512>();

}  // namespace tessera
