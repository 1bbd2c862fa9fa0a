#include "tessera/npu/graph_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {

GraphStore::GraphStore(Device& device, std::vector<BlockVariants> blocks) : device_(device), limits_(device.limits()) {
  for (BlockVariants& graphs : blocks) {
    const int number = static_cast<int>(blocks_.size());
    Block block;
    for (std::shared_ptr<const CompiledGraph>& compiled : graphs) {
      const int64_t bytes = device.CostOfBlock(number, *compiled).bytes;
      const int rows = compiled->row_capacity;
      block.variants.push_back({std::move(compiled), nullptr, bytes, rows});
      ++all_graphs_;
    }
    blocks_.push_back(std::move(block));
  }
}

std::vector<std::vector<LoadCost>> GraphStore::Costs() const {
  std::vector<std::vector<LoadCost>> costs;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    costs.emplace_back();
    for (const Variant& variant : blocks_[b].variants) costs.back().push_back(device_.CostOfBlock(static_cast<int>(b), *variant.compiled));
  }
  return costs;
}

absl::Status GraphStore::Carry(const ResidencyPlan& plan) {
  in_use_ = {kNone, kNone};
  limits_ = plan.limits;
  for (const ResidentGraph& graph : Idle()) {
    if (std::find(plan.resident.begin(), plan.resident.end(), graph.id) == plan.resident.end()) Unload(At(graph.id));
  }
  for (const GraphId id : plan.resident) {
    if (At(id).loaded == nullptr) RETURN_IF_ERROR(Load(id));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedGraph*> GraphStore::For(int block, int rows) {
  const int variant = VariantFor(block, rows);
  if (variant == kNone) {
    return absl::InvalidArgumentError(absl::StrCat("rows of a graph of block ", block, ": found ", rows, ", expected at most ",
                                                   blocks_[block].variants.back().rows));
  }
  in_use_ = {block, variant};
  blocks_[block].wanted = variant;
  Variant& found = blocks_[block].variants[variant];
  if (found.loaded == nullptr) RETURN_IF_ERROR(Load(in_use_));
  return found.loaded.get();
}

absl::Status GraphStore::Switch(int block, int rows) {
  const int variant = VariantFor(block, rows);
  std::vector<Variant>& variants = blocks_[block].variants;
  for (size_t v = 0; v < variants.size(); ++v) {
    if (variants[v].loaded == nullptr || static_cast<int>(v) == variant) continue;
    if (in_use_ == GraphId{block, static_cast<int>(v)}) in_use_ = {kNone, kNone};
    Unload(variants[v]);
  }
  return For(block, rows).status();
}

bool GraphStore::IsReady(int block) const {
  const Block& found = blocks_[block];
  if (found.wanted == kNone) return false;
  const std::unique_ptr<LoadedGraph>& loaded = found.variants[found.wanted].loaded;
  return loaded != nullptr && loaded->is_ready();
}

absl::Status GraphStore::Run(GraphNeed graph, const RunArguments& arguments, GraphNeed next) {
  ASSIGN_OR_RETURN(LoadedGraph* const loaded, For(graph.block, graph.rows));
  RETURN_IF_ERROR(device_.Submit(*loaded, arguments));
  if (next.block != kNone) LoadAhead(next);
  return device_.Wait();
}

void GraphStore::LoadAhead(GraphNeed next) {
  if (graphs_ == all_graphs_ || !loads_ahead_) return;
  const int block = next.block;
  const int variant = VariantFor(block, std::min(next.rows, blocks_[block].variants.back().rows));
  if (At({block, variant}).loaded != nullptr) return;
  const int wanted = std::exchange(blocks_[block].wanted, variant);  // The variant that this variant replaces is then unloaded first.
  // The current run does not need the loaded graph. If the load fails, For loads the graph again on demand and returns the error.
  if (!Load({block, variant}).ok()) blocks_[block].wanted = wanted;
}

int GraphStore::VariantFor(int block, int rows) const {
  const std::vector<Variant>& variants = blocks_[block].variants;
  for (size_t i = 0; i < variants.size(); ++i) {
    if (rows <= variants[i].rows) return static_cast<int>(i);
  }
  return kNone;
}

absl::Status GraphStore::Load(GraphId id) {
  Variant& variant = At(id);
  const Variant* const stays = in_use_.block == kNone || At(in_use_).loaded == nullptr ? nullptr : &At(in_use_);
  const int64_t room = stays == nullptr ? limits_.bytes : limits_.bytes - stays->bytes;
  if (variant.bytes > room || limits_.graphs <= (stays == nullptr ? 0 : 1)) {
    return absl::ResourceExhaustedError(absl::StrCat("graph of block ", id.block, " for ", variant.rows,
                                                     " rows: found ", variant.bytes, " bytes, expected at most ", room, " in ",
                                                     limits_.graphs, " graphs"));
  }
  while (graphs_ >= limits_.graphs || variant.bytes > limits_.bytes - bytes_) {
    const std::vector<ResidentGraph> idle = Idle();
    Unload(At(idle[NeededLast(idle, id.block)].id));
  }
  ASSIGN_OR_RETURN(variant.loaded, device_.LoadBlock(id.block, *variant.compiled));
  ++graphs_;
  bytes_ += variant.bytes;
  return absl::OkStatus();
}

void GraphStore::Unload(Variant& variant) {
  variant.loaded = nullptr;
  --graphs_;
  bytes_ -= variant.bytes;
}

std::vector<ResidentGraph> GraphStore::Idle() const {
  std::vector<ResidentGraph> idle;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    for (size_t v = 0; v < block.variants.size(); ++v) {
      const GraphId id = {static_cast<int>(b), static_cast<int>(v)};
      if (block.variants[v].loaded == nullptr || id == in_use_) continue;
      idle.push_back({id, block.wanted != kNone && block.wanted != id.variant});
    }
  }
  return idle;
}

}  // namespace tessera
