#include "tessera/runtime/plan/pass_work.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/tensor/kv_view.h"

namespace tessera {
namespace {

constexpr absl::string_view kEmbedding = "token_embd.weight", kHead = "output.weight";

bool IsFloat(BlockFormat format) { return InfoOf(format).values_per_block == 1; }

// Positions that a row at `position` attends to, itself included.
double Attended(const LayerConfig& layer, int position) {
  return layer.window > 0 ? std::min(layer.window, position + 1) : position + 1;
}

void AddAttention(Engine& engine, const PassSize& pass, PassWork& work) {
  const ModelConfig& config = engine.config();
  const KvFormat format = CoreOf(engine).cache().View(0).format();
  constexpr int64_t kSlots = KvView::kSlotsPerBlock;
  const int64_t block_bytes = KvView::KeyBytes(format, config.kv_heads, config.head_size, kSlots) +
                              KvView::ValueBytes(format, config.kv_heads, config.head_size, kSlots);
  for (const LayerConfig& layer : config.layers) {
    const int rows = &layer == &config.layers.back() ? pass.wanted : pass.rows, depth = pass.depth + pass.rows - rows;
    double pairs = 0;
    for (int row = 0; row < rows; ++row) pairs += Attended(layer, depth + row);
    work.attention += pairs * 4.0 * config.heads * config.head_size;  // Two per dimension for the score, two for the sum of values.
    const double reach = layer.window > 0 ? std::min(depth + rows, layer.window + rows - 1) : depth + rows;
    work.kv_bytes += reach * static_cast<double>(block_bytes) / kSlots;
  }
}

// The number of rows by which a tensor is multiplied: in the last layer all rows give keys and values, and only wanted rows the rest.
int RowsOf(absl::string_view tensor, int layers, const PassSize& pass) {
  if (tensor == kEmbedding || tensor == kHead) return 1;
  if (!absl::ConsumePrefix(&tensor, absl::StrCat("blk.", layers - 1, "."))) return pass.rows;
  return tensor == "attn_k.weight" || tensor == "attn_v.weight" ? pass.rows : pass.wanted;
}

}  // namespace

double ReachableShare(BlockFormat format) {
  switch (format) {
    case BlockFormat::kF32: case BlockFormat::kF16: case BlockFormat::kBF16: return 1;
    case BlockFormat::kQ4_0: case BlockFormat::kQ5_0: case BlockFormat::kQ8_0: case BlockFormat::kIQ4_NL: case BlockFormat::kQ1_0:
    case BlockFormat::kQ2_0: case BlockFormat::kTQ1_0: case BlockFormat::kTQ2_0: case BlockFormat::kT2: case BlockFormat::kT3: return 0.74;
    case BlockFormat::kQ4_1: case BlockFormat::kQ5_1: return 0.68;
    case BlockFormat::kQ4_K: case BlockFormat::kQ5_K: return 0.66;
    case BlockFormat::kQ2_K: case BlockFormat::kQ3_K: case BlockFormat::kQ6_K: case BlockFormat::kIQ1_S: case BlockFormat::kIQ1_M:
    case BlockFormat::kIQ2_XXS: case BlockFormat::kIQ2_XS: case BlockFormat::kIQ2_S: case BlockFormat::kIQ3_XXS: case BlockFormat::kIQ3_S:
    case BlockFormat::kIQ4_XS: case BlockFormat::kMXFP4: case BlockFormat::kNVFP4: return 0.58;
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

PassWork WeightWorkOf(const Engine& engine, const PassSize& pass) {
  PassWork work;
  const int layers = static_cast<int>(engine.config().layers.size());
  for (int unit = 0; unit < engine.model().layout().units(); ++unit) {
    for (const WeightLayout::Placed& placed : engine.model().layout().PartsOfUnit(unit)) {
      if (*placed.tensor == kEmbedding && !engine.config().tied_head) continue;
      work.weight_bytes += static_cast<double>(placed.part->bytes);
      const GraphWeight& weight = placed.part->weight;
      if (weight.vector) continue;
      const BlockFormat format = weight.tile.has_value() ? BlockFormat::kF32 : weight.spec.format;   // Tiles are products in FP32.
      work.products[static_cast<int>(format)] += 2.0 * RowsOf(*placed.tensor, layers, pass) *
                                                 static_cast<double>(weight.spec.out_features) *
                                                 static_cast<double>(weight.spec.in_features);
    }
  }
  return work;
}

PassWork PassWorkOf(Engine& engine, const PassSize& pass) {
  PassWork work = WeightWorkOf(engine, pass);
  AddAttention(engine, pass, work);
  return work;
}

}  // namespace tessera
