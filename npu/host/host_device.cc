#include "tessera/npu/host/host_device.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/host/internal/worker.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {
namespace {

absl::Status GrowTo(AlignedBuffer& buffer, int64_t bytes) {
  if (buffer.size() >= bytes) return absl::OkStatus();
  // Doubled: paths grow token by token. On small pages: a first pass would back large ones of which it uses the beginning.
  ASSIGN_OR_RETURN(buffer, AlignedBuffer::Allocate(std::max(bytes, 2 * buffer.size()), AlignedBuffer::Pages::kSmall));
  return absl::OkStatus();
}

int64_t RoundedBytes(const HostGraph& graph) { return QuantizedRows::BytesFor(graph.compiled.row_capacity, graph.widest_input); }

int LongestPath(const RunArguments& arguments) {
  int64_t longest = 0;
  for (const SlotPath& path : arguments.paths) longest = std::max(longest, PathLength(path));
  return static_cast<int>(longest);
}

}  // namespace

struct HostDevice::LoadedGraph {
  HostGraph host;
};

HostDevice::HostDevice(ThreadPool& pool) : HostDevice(pool, Options()) {}

HostDevice::HostDevice(ThreadPool& pool, const Options& options)
    : pool_(pool), options_(options), matmul_(options.matmul != nullptr ? *options.matmul : MatMulKernelsFor(options.path)) {}

HostDevice::~HostDevice() = default;

absl::StatusOr<GraphHandle> HostDevice::Load(const CompiledGraph& graph) {
  auto loaded = std::make_unique<LoadedGraph>();
  loaded->host = PrepareForHost(graph);
  RETURN_IF_ERROR(GrowTo(arena_, graph.arena_bytes));
  RETURN_IF_ERROR(GrowTo(rounded_, RoundedBytes(loaded->host)));
  graphs_.push_back(std::move(loaded));
  return static_cast<GraphHandle>(graphs_.size()) - 1;
}

absl::Status HostDevice::Run(GraphHandle handle, const RunArguments& arguments) {
  if (handle < 0 || handle >= static_cast<GraphHandle>(graphs_.size())) {
    return absl::InvalidArgumentError(absl::StrCat("graph handle: found ", handle, ", expected below ", graphs_.size()));
  }
  const HostGraph& graph = graphs_[handle]->host;
  RETURN_IF_ERROR(CheckArguments(graph.compiled, weight_encoding(), kv_format(), arguments));
  if (arguments.rows == 0) return absl::OkStatus();
  const int longest = graph.widest_head > 0 ? LongestPath(arguments) : 0;
  const int64_t scratch_bytes = WorkerScratchBytes(graph, longest);
  const int64_t workers_bytes = scratch_bytes * pool_.threads();
  RETURN_IF_ERROR(GrowTo(private_, workers_bytes + SharedScores(graph, longest) * static_cast<int64_t>(sizeof(float))));
  const int64_t shares = static_cast<int64_t>(graph.steps.size()) * pool_.threads();
  RETURN_IF_ERROR(GrowTo(taken_, shares * static_cast<int64_t>(sizeof(TakenParts))));
  TakenParts* const taken = taken_.as<TakenParts>();
  std::uninitialized_value_construct_n(taken, shares);
  const HostRun run = {graph, arguments, matmul_, RowKernelsFor(options_.path), pool_, arena_.data(), rounded_.data(),
                       private_.data(), scratch_bytes, taken, reinterpret_cast<float*>(private_.data() + workers_bytes), longest};
  pool_.Run([&run](int index) { Worker(run, index).Run(); });
  return absl::OkStatus();
}

int64_t HostDevice::ScratchBytes(int longest_path) const {
  int64_t arena = 0, rounded = 0, worker = 0, scores = 0;
  for (const std::unique_ptr<LoadedGraph>& loaded : graphs_) {
    const HostGraph& graph = loaded->host;
    arena = std::max(arena, graph.compiled.arena_bytes);
    rounded = std::max(rounded, RoundedBytes(graph));
    worker = std::max(worker, WorkerScratchBytes(graph, graph.widest_head > 0 ? longest_path : 0));
    scores = std::max(scores, SharedScores(graph, longest_path) * static_cast<int64_t>(sizeof(float)));
  }
  return arena + rounded + worker * pool_.threads() + scores;
}

}  // namespace tessera
