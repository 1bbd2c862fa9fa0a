#include "tessera/runtime/engine/weight_plan.h"

#include <algorithm>
#include <set>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/model/block_graph.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

std::vector<int> UnitsOf(const BlockGraph& block) {
  std::set<int> units;
  for (const TensorPart& part : block.parts) units.insert(part.unit);
  return {units.begin(), units.end()};
}

}  // namespace

StreamNeeds WeightNeedsOf(const ModelConfig& config, const WeightLayout& layout) {
  StreamNeeds needs;
  for (int unit = 0; unit < layout.units(); ++unit) {
    needs.unit_bytes.push_back(AlignUp(layout.UnitBytes(unit), AlignedBuffer::kAlignment));
    needs.total_bytes += needs.unit_bytes.back();
  }
  needs.parts_only.assign(layout.units(), false);
  if (!config.tied_head) {
    for (const TensorPart& part : layout.Parts(EmbeddingNeed(config).name)) needs.parts_only[part.unit] = true;
  }
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    needs.together.push_back(UnitsOf(BuildLayerGraph(config, layout, layer)));
  }
  needs.together.push_back(UnitsOf(BuildOutputNormGraph(config, layout)));
  std::set<int> head;
  for (const BlockGraph& part : BuildHeadGraphs(config, layout)) {
    needs.together.push_back(UnitsOf(part));
    head.insert(needs.together.back().begin(), needs.together.back().end());
  }
  needs.first.assign(head.begin(), head.end());
  return needs;
}

int64_t BytesOfPass(const StreamNeeds& needs, const StreamPlan& plan, int head_readings) {
  int64_t bytes = plan.pass_bytes;
  if (bytes == 0) return 0;  // The head stays in memory, too.
  for (const int unit : needs.first) {
    if (!plan.pins.pinned[unit] && !needs.parts_only[unit]) bytes += (head_readings - 1) * needs.unit_bytes[unit];
  }
  return bytes;
}

}  // namespace tessera
