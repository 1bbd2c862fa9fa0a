#include "tessera/npu/host/kernels/attention_kernel.h"
#include "tessera/tensor/kernels/lanes_neon.h"

namespace tessera {

const RowKernels kRowNeon = RowKernelTable<LanesNeon>();

}  // namespace tessera
