#include "tessera/npu/hmx/hmx_device.h"

#include <glog/logging.h>

#include "tessera/npu/host/internal/worker.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/quant/tile_kernels.h"

namespace tessera {
namespace {

HostArithmetic ArithmeticOf(const HmxDevice::Options& options) {
  CHECK(options.kv_block >= 0 && options.kv_block <= HmxDevice::kMostKvBlock && options.kv_block % KvView::kSlotsPerBlock == 0)
      << "kv_block: " << options.kv_block;
  return {.matmul = MatMulKernelsFor(options.path),
          .rows = RowKernelsFor(options.path),
          .tiles = &TileKernelsFor(options.path),
          .kv_block = options.kv_block,
          .exp = options.exp};
}

}  // namespace

HmxDevice::HmxDevice(ThreadPool& pool, const Options& options) : HostDevice(pool, ArithmeticOf(options), KvFormat::kHalf) {}

}  // namespace tessera
