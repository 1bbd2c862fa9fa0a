#include "tessera/npu/host/host_device.h"

#include "tessera/npu/host/internal/graph_runner.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {
namespace {

HostArithmetic ArithmeticOf(const HostDevice::Options& options) {
  return {.matmul = options.matmul != nullptr ? *options.matmul : MatMulKernelsFor(options.path), .rows = RowKernelsFor(options.path)};
}

}  // namespace

HostDevice::HostDevice(ThreadPool& pool) : HostDevice(pool, Options()) {}

HostDevice::HostDevice(ThreadPool& pool, const Options& options) : HostDevice(pool, ArithmeticOf(options), options.kv_format) {}

HostDevice::HostDevice(ThreadPool& pool, const HostArithmetic& arithmetic, KvFormat kv_format)
    : kv_format_(kv_format), runner_(std::make_unique<GraphRunner>(pool, arithmetic)) {}

HostDevice::~HostDevice() = default;

// Loading takes no time that a plan would count: some microseconds.
LoadCost HostDevice::CostOf(const CompiledGraph& graph) const { return {.bytes = DescriptionBytes(graph)}; }

absl::StatusOr<std::unique_ptr<LoadedGraph>> HostDevice::Load(const CompiledGraph& graph) { return runner_->Load(graph); }

absl::Status HostDevice::Submit(LoadedGraph& loaded, const RunArguments& arguments) {
  return runner_->Run(loaded, arguments, weight_encoding(), kv_format());
}

int64_t HostDevice::ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const {
  return runner_->ScratchBytes(graphs, longest_path);
}

}  // namespace tessera
