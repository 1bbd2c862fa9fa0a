#include "tessera/npu/host/kernels/attention_kernel.h"
#include "tessera/tensor/kernels/lanes_avx2.h"

namespace tessera {

const RowKernels kRowAvx2 = RowKernelTable<LanesAvx2>();

}  // namespace tessera
