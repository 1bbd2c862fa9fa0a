#include "tessera/npu/host/kernels/attention_kernel.h"
#include "tessera/tensor/kernels/lanes_avx512.h"

namespace tessera {

const RowKernels kRowAvx512 = RowKernelTable<LanesAvx512>();

}  // namespace tessera
