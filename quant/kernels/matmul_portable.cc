#include "tessera/quant/kernels/kernel_table.h"
#include "tessera/tensor/kernels/lanes_portable.h"

namespace tessera {

const MatMulKernels kMatMulPortable = KernelTable<LanesPortable>(KernelPath::kPortable);

}  // namespace tessera
