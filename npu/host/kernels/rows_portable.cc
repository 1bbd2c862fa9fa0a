#include "tessera/npu/host/kernels/row_kernel_table.h"
#include "tessera/tensor/kernels/lanes_portable.h"

namespace tessera {

const RowKernels kRowPortable = RowKernelTable<LanesPortable>();

}  // namespace tessera
