#include "tessera/npu/hmx/hmx_device.h"

#include <glog/logging.h>

#include "tessera/npu/host/internal/graph_runner.h"
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

HmxDevice::HmxDevice(ThreadPool& pool, const Options& options)
    : runner_(std::make_unique<GraphRunner>(pool, ArithmeticOf(options))) {}

HmxDevice::~HmxDevice() = default;

LoadCost HmxDevice::CostOf(const CompiledGraph& graph) const { return {.bytes = DescriptionBytes(graph)}; }

absl::StatusOr<std::unique_ptr<LoadedGraph>> HmxDevice::Load(const CompiledGraph& graph) { return runner_->Load(graph); }

absl::Status HmxDevice::Submit(LoadedGraph& loaded, const RunArguments& arguments) {
  return runner_->Run(loaded, arguments, weight_encoding(), kv_format());
}

int64_t HmxDevice::ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const {
  return runner_->ScratchBytes(graphs, longest_path);
}

}  // namespace tessera
