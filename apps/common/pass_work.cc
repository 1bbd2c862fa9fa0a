#include "tessera/apps/common/pass_work.h"

#include <algorithm>

#include "tessera/tensor/kv_view.h"

namespace tessera {
namespace {

constexpr absl::string_view kEmbedding = "token_embd.weight", kHead = "output.weight";

bool IsFloat(BlockFormat format) { return InfoOf(format).values_per_block == 1; }

// Positions that a row at `position` attends to, itself included.
double Attended(const LayerConfig& layer, int position) {
  return layer.window > 0 ? std::min(layer.window, position + 1) : position + 1;
}

void AddAttention(Engine& engine, int rows, int depth, PassWork& work) {
  const ModelConfig& config = engine.config();
  const KvFormat format = engine.cache().View(0).format();
  constexpr int64_t kSlots = KvView::kSlotsPerBlock;
  const int64_t block_bytes = KvView::KeyBytes(format, config.kv_heads, config.head_size, kSlots) +
                              KvView::ValueBytes(format, config.kv_heads, config.head_size, kSlots);
  for (const LayerConfig& layer : config.layers) {
    double pairs = 0;
    for (int row = 0; row < rows; ++row) pairs += Attended(layer, depth + row);
    work.attention += pairs * 4.0 * config.heads * config.head_size;  // Two a dimension for the score, two for the sum of values.
    const double reach = layer.window > 0 ? std::min(depth + rows, layer.window + rows - 1) : depth + rows;
    work.kv_bytes += reach * static_cast<double>(block_bytes) / kSlots;
  }
}

}  // namespace

double ReachableShare(BlockFormat format) {
  switch (format) {
    case BlockFormat::kF32: case BlockFormat::kF16: case BlockFormat::kBF16: return 1;
    case BlockFormat::kQ4_0: case BlockFormat::kQ5_0: case BlockFormat::kQ8_0: case BlockFormat::kIQ4_NL: return 0.74;
    case BlockFormat::kQ4_1: case BlockFormat::kQ5_1: return 0.68;
    case BlockFormat::kQ4_K: case BlockFormat::kQ5_K: return 0.66;
    case BlockFormat::kQ2_K: case BlockFormat::kQ3_K: case BlockFormat::kQ6_K: return 0.58;
  }
  return 1;
}

double PassWork::ProductSeconds(double int8, double fp32, bool reachable) const {
  double seconds = 0;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const double peak = IsFloat(info.format) ? fp32 : int8;
    seconds += products[static_cast<int>(info.format)] / (peak * (reachable ? ReachableShare(info.format) : 1));
  }
  return seconds;
}

PassWork WeightWorkOf(const Engine& engine, int rows) {
  PassWork work;
  const bool tied = engine.config().tied_head;
  for (int unit = 0; unit < engine.layout().units(); ++unit) {
    for (const WeightLayout::Placed& placed : engine.layout().PartsOfUnit(unit)) {
      const bool embedding = *placed.tensor == kEmbedding;
      if (embedding && !tied) continue;
      work.weight_bytes += static_cast<double>(placed.part->bytes);
      const GraphWeight& weight = placed.part->weight;
      if (weight.vector) continue;
      const double times = embedding || *placed.tensor == kHead ? 1 : rows;
      work.products[static_cast<int>(weight.spec.format)] +=
          2 * times * static_cast<double>(weight.spec.out_features) * static_cast<double>(weight.spec.in_features);
    }
  }
  return work;
}

PassWork PassWorkOf(Engine& engine, int rows, int depth) {
  PassWork work = WeightWorkOf(engine, rows);
  AddAttention(engine, rows, depth, work);
  return work;
}

}  // namespace tessera
