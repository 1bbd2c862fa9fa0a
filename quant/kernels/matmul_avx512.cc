#include "tessera/quant/kernels/kernel_table.h"
#include "tessera/tensor/kernels/lanes_avx512.h"

namespace tessera {

const MatMulKernels kMatMulAvx512 = KernelTable<LanesAvx512>(KernelPath::kAvx512Vnni);

}  // namespace tessera
