#include "tessera/npu/host/kernels/attention_kernel.h"
#include "tessera/tensor/kernels/lanes_portable.h"

namespace tessera {

const RowKernels kRowPortable = RowKernelTable<LanesPortable>();

}  // namespace tessera
