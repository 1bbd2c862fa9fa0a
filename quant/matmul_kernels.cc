#include "tessera/quant/matmul_kernels.h"

#include <glog/logging.h>

#include "tessera/quant/kernels/kernel_table.h"

namespace tessera {

const MatMulKernels& MatMulKernelsFor(KernelPath path) {
  switch (path) {
    case KernelPath::kPortable: return kMatMulPortable;
#if defined(__x86_64__)
    case KernelPath::kAvx2: return kMatMulAvx2;
    case KernelPath::kAvx512Vnni: return kMatMulAvx512;
#elif defined(__aarch64__)
    case KernelPath::kNeon: return kMatMulNeon;
#endif
    default: break;
  }
  LOG(FATAL) << "no kernels for path " << static_cast<int>(path);
}

}  // namespace tessera
