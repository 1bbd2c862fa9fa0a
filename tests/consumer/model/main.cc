// Compiles the graph of a layer of the model named on the command line, tests/golden/tiny/llama.gguf, and keeps two texts with a common
// beginning in one cache.
#include <iostream>
#include <memory>

#include "tessera/base/status_macros.h"
#include "tessera/model/block_graph.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/kv_cache.h"
#include "tessera/npu/compiler.h"

namespace {

using namespace tessera;

absl::StatusOr<size_t> Operators(const ModelFile& file, const ModelConfig& config) {
  ASSIGN_OR_RETURN(const WeightLayout layout, file.PlanWeights(config, WeightEncoding::kPacked));
  const BlockGraph block = BuildLayerGraph(config, layout, /*layer=*/0);
  ASSIGN_OR_RETURN(const CompiledGraph compiled, Compile(block.graph, {.row_capacity = 8}));
  return compiled.graph.operators.size();
}

// The slots that two texts of 12 tokens take if the first 10 are the same.
absl::StatusOr<int> Slots(const ModelConfig& config) {
  constexpr int kSlots = 64;
  ASSIGN_OR_RETURN(const std::unique_ptr<KvCache> cache,
                   KvCache::Create({.layers = static_cast<int>(config.layers.size()), .heads = config.kv_heads,
                                    .head_size = config.head_size, .slots = kSlots}));
  const KvCache::SequenceId first = cache->NewSequence();
  RETURN_IF_ERROR(cache->MakeRoom(14));
  RETURN_IF_ERROR(cache->Extend(first, 10));
  ASSIGN_OR_RETURN(const KvCache::SequenceId second, cache->Fork(first, 10));
  RETURN_IF_ERROR(cache->Extend(first, 2));
  RETURN_IF_ERROR(cache->Extend(second, 2));
  return kSlots - cache->free_slots();
}

absl::Status Run(const char* path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file->gguf()));
  ASSIGN_OR_RETURN(const size_t operators, Operators(*file, config));
  ASSIGN_OR_RETURN(const int slots, Slots(config));
  std::cout << "model: " << operators << " operators, " << slots << " slots\n";
  return operators > 10 && slots == 14 ? absl::OkStatus() : absl::InternalError("found other numbers");
}

}  // namespace

int main(int, char** arguments) {
  const absl::Status status = Run(arguments[1]);
  if (!status.ok()) std::cout << "model: " << status << "\n";
  return status.ok() ? 0 : 1;
}
