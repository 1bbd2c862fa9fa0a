// Runs static graphs with a phone NPU's arithmetic on this CPU: matrices in tiles, FP16 in and out of the matrix unit, FlashAttention in
// FP16.
//
//   ThreadPool pool(2);
//   HmxDevice device(pool, {.kv_block = 512});
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device.Load(compiled));     // weights with a TileScheme lie in tiles
//   RETURN_IF_ERROR(device.Run(*graph, arguments));
//
// The arithmetic is the stated model of docs/tiles.md (the test-time scaling paper, sections 3 and 5). Products with tile matrices are
// computed as in quant/tile_kernels.h. Attention is computed as in npu/flash_attention.h (Algorithm 1, 2^x by table), with keys and values
// in FP16. Residuals, norms, activations, rotations and adapters are in FP32; biases are added before an output is rounded. Matrices
// without a scheme, such as the head, are multiplied by the CPU with the bits of HostDevice. The rounding in a phone's vector unit differs
// and is not known.
//
// HmxDevice is a HostDevice with another arithmetic: runs work alike, and FP16 is the only format of keys and values. Promise: as
// HostDevice. The bits of a row depend on the row's own inputs, path and adapter, on the weights, and on kv_block: blocks of keys begin at
// multiples of kv_block in the row's text. A run costs the active rows. Submit computes.
//
// Threads: as Device.
#pragma once

#include "tessera/base/cpu_features.h"
#include "tessera/base/thread_pool.h"
#include "tessera/npu/flash_attention.h"
#include "tessera/npu/host/host_device.h"

namespace tessera {

class HmxDevice : public HostDevice {
 public:
  static constexpr int kDefaultKvBlock = 512, kMostKvBlock = 4096;
  struct Options {
    KernelPath path = BestKernelPath();
    // Positions per block of keys and values; sums are rounded to FP16 once per block. REQUIRES: a multiple of KvView::kSlotsPerBlock, at
    // most kMostKvBlock; or 0. With 0, attention is in FP32 with exact exp, as in HostDevice, to measure the cost of FP16.
    int kv_block = kDefaultKvBlock;
    HmxExp exp = HmxExp::kTable;
  };
  // The pool must outlive the device. REQUIRES: this CPU supports options.path.
  HmxDevice(ThreadPool& pool, const Options& options);

  absl::string_view name() const override { return "npu"; }
  WeightEncoding weight_encoding() const override { return WeightEncoding::kTiles; }
};

}  // namespace tessera
