#include "tessera/npu/host/internal/graph_runner.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

absl::Status GrowTo(AlignedBuffer& buffer, int64_t bytes) {
  if (buffer.size() >= bytes) return absl::OkStatus();
  // Doubled, because paths grow token by token. On small pages: a first pass would back large pages and use only their beginning.
  const int64_t wanted = std::max(bytes, 2 * buffer.size());
  ASSIGN_OR_RETURN(buffer, AlignedBuffer::Allocate(wanted, AlignedBuffer::Pages::kSmall, "scratch of a graph"));
  return absl::OkStatus();
}

int64_t RoundedBytes(const HostGraph& graph) { return RoundedRows::BytesFor(graph, graph.compiled.row_capacity); }

int LongestPath(const RunArguments& arguments) {
  int64_t longest = 0;
  for (const SlotPath& path : arguments.paths) longest = std::max(longest, PathLength(path));
  return static_cast<int>(longest);
}

// The largest rank of any row's adapters; 0: no row has one.
int LargestRank(int placeholders, absl::Span<const AdapterProduct* const> adapters) {
  int largest = 0;
  const AdapterProduct* looked_at = nullptr;   // Rows of one task stand side by side.
  for (const AdapterProduct* const products : adapters) {
    if (products == looked_at) continue;
    looked_at = products;
    for (int i = 0; products != nullptr && i < placeholders; ++i) {
      if (products[i].a != nullptr) largest = std::max(largest, products[i].rank);
    }
  }
  return largest;
}

class RunnerGraph : public LoadedGraph {
 public:
  explicit RunnerGraph(std::shared_ptr<const HostGraph> host) : host_(std::move(host)) {}
  int64_t bytes() const override { return DescriptionBytes(host_->compiled); }
  int rows() const override { return host_->compiled.row_capacity; }
  const HostGraph& host() const { return *host_; }

 private:
  const std::shared_ptr<const HostGraph> host_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedGraph>> GraphRunner::Load(const CompiledGraph& graph) {
  absl::erase_if(graphs_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const HostGraph>& known = graphs_[{graph.text, graph.row_capacity}];
  std::shared_ptr<const HostGraph> host = known.lock();
  if (host == nullptr) {
    host = std::make_shared<const HostGraph>(PrepareForHost(graph));
    RETURN_IF_ERROR(GrowTo(arena_, graph.arena_bytes));
    RETURN_IF_ERROR(GrowTo(rounded_, RoundedBytes(*host)));
    known = host;
  }
  return std::make_unique<RunnerGraph>(std::move(host));
}

absl::Status GraphRunner::Run(LoadedGraph& loaded, const RunArguments& arguments, WeightEncoding encoding, KvFormat kv_format) {
  const HostGraph& graph = static_cast<const RunnerGraph&>(loaded).host();
  RETURN_IF_ERROR(CheckArguments(graph.compiled, encoding, kv_format, arguments));
  if (arguments.rows == 0) return absl::OkStatus();
  const int longest = graph.widest_head > 0 ? LongestPath(arguments) : 0;
  const int64_t scratch_bytes = WorkerScratchBytes(graph, longest);
  const int64_t workers_bytes = scratch_bytes * pool_.threads();
  RETURN_IF_ERROR(GrowTo(private_, workers_bytes + SharedScores(graph, longest) * static_cast<int64_t>(sizeof(float))));
  const int64_t shares = static_cast<int64_t>(graph.steps.size()) * pool_.threads();
  RETURN_IF_ERROR(GrowTo(taken_, shares * static_cast<int64_t>(sizeof(TakenParts))));
  const int64_t inner_stride = AlignUp(LargestRank(graph.compiled.graph.adapters, arguments.adapters), 16);
  const int64_t inners = graph.inners * inner_stride * std::max(arguments.rows, pool_.threads());
  RETURN_IF_ERROR(GrowTo(inner_, inners * static_cast<int64_t>(sizeof(float))));
  TakenParts* const taken = taken_.as<TakenParts>();
  std::uninitialized_value_construct_n(taken, shares);
  const HostRun run = {graph, arguments, arithmetic_, pool_, arena_.data(), rounded_.data(), inner_.as<float>(), inner_stride,
                       private_.data(), scratch_bytes, taken, reinterpret_cast<float*>(private_.data() + workers_bytes), longest};
  pool_.Run([&run](int index) { Worker(run, index).Run(); });
  return absl::OkStatus();
}

int64_t GraphRunner::ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const {
  int64_t arena = 0, rounded = 0, worker = 0, scores = 0;
  for (const CompiledGraph* const compiled : graphs) {
    const HostGraph graph = PrepareForHost(*compiled);
    arena = std::max(arena, compiled->arena_bytes);
    rounded = std::max(rounded, RoundedBytes(graph));
    worker = std::max(worker, WorkerScratchBytes(graph, graph.widest_head > 0 ? longest_path : 0));
    scores = std::max(scores, SharedScores(graph, longest_path) * static_cast<int64_t>(sizeof(float)));
  }
  return arena + rounded + worker * pool_.threads() + scores;
}

}  // namespace tessera
