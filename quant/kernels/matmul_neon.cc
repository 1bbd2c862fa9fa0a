#include "tessera/quant/kernels/kernel_table.h"
#include "tessera/tensor/kernels/lanes_neon.h"

namespace tessera {

const MatMulKernels kMatMulNeon = KernelTable<LanesNeon>(KernelPath::kNeon);

}  // namespace tessera
