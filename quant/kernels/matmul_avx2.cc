#include "tessera/quant/kernels/kernel_table.h"
#include "tessera/tensor/kernels/lanes_avx2.h"

namespace tessera {

const MatMulKernels kMatMulAvx2 = KernelTable<LanesAvx2>(KernelPath::kAvx2);

}  // namespace tessera
