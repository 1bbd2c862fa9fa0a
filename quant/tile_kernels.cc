#include "tessera/quant/tile_kernels.h"

#include <glog/logging.h>

#include "tessera/quant/kernels/tile_kernel_table.h"

namespace tessera {

const TileKernels& TileKernelsFor(KernelPath path) {
  switch (path) {
    case KernelPath::kPortable: return kTilesPortable;
#if defined(__x86_64__)
    case KernelPath::kAvx2: return kTilesAvx2;
    case KernelPath::kAvx512Vnni: return kTilesAvx512;
#elif defined(__aarch64__)
    case KernelPath::kNeon: return kTilesNeon;
#endif
    default: break;
  }
  LOG(FATAL) << "no kernels for path " << static_cast<int>(path);
}

}  // namespace tessera
