// Runs static graphs with a phone NPU's arithmetic, on this CPU: matrices in tiles, FP16 in and out of the matrix unit, FlashAttention in
// FP16.
//
//   ThreadPool pool(2);
//   HmxDevice device(pool, {.kv_block = 512});
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> graph, device.Load(compiled));     // weights with a TileScheme lie in tiles
//   RETURN_IF_ERROR(device.Run(*graph, arguments));
//
// What it computes is the stated model of docs/tiles.md (paper 001, sections 3 and 5): products with tile matrices as quant/tile_kernels.h
// has them, attention as npu/flash_attention.h (Algorithm 1, 2^x by table), keys and values in FP16; residuals, norms, activations,
// rotations and adapters in FP32; biases are added before an output is rounded. Matrices without a scheme, such as the head, are products
// of the CPU: they have the bits of HostDevice. A phone's own rounding in its vector unit is another and not known.
//
// It is a HostDevice with another arithmetic: it runs graphs as that does, and FP16 keys and values are its only format. Promise: as
// HostDevice's. The bits of a row depend on its own inputs, path and adapter, on the weights, and on kv_block, since blocks of
// keys begin at multiples of it in the row's text. Costs what its active rows cost. Submit computes. Threads: as Device says.
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
    // Keys and values that are computed at once, of which a block's sums are rounded to FP16 once. REQUIRES: a multiple of
    // KvView::kSlotsPerBlock, at most kMostKvBlock; or 0: attention in FP32 with exact exp, as HostDevice's, to measure what FP16 costs.
    int kv_block = kDefaultKvBlock;
    HmxExp exp = HmxExp::kTable;
  };
  // The pool must outlive the device. REQUIRES: this CPU supports options.path.
  HmxDevice(ThreadPool& pool, const Options& options);

  absl::string_view name() const override { return "npu"; }
  WeightEncoding weight_encoding() const override { return WeightEncoding::kTiles; }
};

}  // namespace tessera
