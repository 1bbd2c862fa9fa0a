#include <glog/logging.h>

#include "tessera/npu/host/internal/row_kernels.h"

namespace tessera {

const RowKernels& RowKernelsFor(KernelPath path) {
  switch (path) {
    case KernelPath::kPortable: return kRowPortable;
#if defined(__x86_64__)
    case KernelPath::kAvx2: return kRowAvx2;
    case KernelPath::kAvx512Vnni: return kRowAvx512;
#elif defined(__aarch64__)
    case KernelPath::kNeon: return kRowNeon;
#endif
    default: break;
  }
  LOG(FATAL) << "no kernels for path " << static_cast<int>(path);
}

}  // namespace tessera
