#include "tessera/quant/internal/panels/panel_format.h"

#include <glog/logging.h>

#include "tessera/quant/internal/panels/registry.h"

namespace tessera {

const PanelFormat& PanelFormatOf(BlockFormat format) {
  switch (format) {
    case BlockFormat::kF32: return panels::kF32;
    case BlockFormat::kF16: return panels::kF16;
    case BlockFormat::kBF16: return panels::kBF16;
    case BlockFormat::kQ4_0: return panels::kQ4_0;
    case BlockFormat::kQ4_1: return panels::kQ4_1;
    case BlockFormat::kQ5_0: return panels::kQ5_0;
    case BlockFormat::kQ5_1: return panels::kQ5_1;
    case BlockFormat::kQ8_0: return panels::kQ8_0;
    case BlockFormat::kQ2_K: return panels::kQ2_K;
    case BlockFormat::kQ3_K: return panels::kQ3_K;
    case BlockFormat::kQ4_K: return panels::kQ4_K;
    case BlockFormat::kQ5_K: return panels::kQ5_K;
    case BlockFormat::kQ6_K: return panels::kQ6_K;
    case BlockFormat::kIQ4_NL: return panels::kIQ4_NL;
    case BlockFormat::kIQ1_S: return panels::kIQ1_S;
    case BlockFormat::kIQ1_M: return panels::kIQ1_M;
    case BlockFormat::kIQ2_XXS: return panels::kIQ2_XXS;
    case BlockFormat::kIQ2_XS: return panels::kIQ2_XS;
    case BlockFormat::kIQ2_S: return panels::kIQ2_S;
    case BlockFormat::kIQ3_XXS: return panels::kIQ3_XXS;
    case BlockFormat::kIQ3_S: return panels::kIQ3_S;
    case BlockFormat::kIQ4_XS: return panels::kIQ4_XS;
    case BlockFormat::kTQ1_0: return panels::kTQ1_0;
    case BlockFormat::kTQ2_0: return panels::kTQ2_0;
    case BlockFormat::kMXFP4: return panels::kMXFP4;
    case BlockFormat::kNVFP4: return panels::kNVFP4;
    case BlockFormat::kQ1_0: return panels::kQ1_0;
    case BlockFormat::kQ2_0: return panels::kQ2_0;
    case BlockFormat::kT2: return panels::kT2;
    case BlockFormat::kT3: return panels::kT3;
  }
  LOG(FATAL) << "block format " << static_cast<int>(format) << " has no panel layout";
}

int64_t PanelBytes(BlockFormat format, int64_t in_features) {
  const PanelFormat& panel = PanelFormatOf(format);
  CHECK_EQ(in_features % panel.inputs_per_block, 0);
  return in_features / panel.inputs_per_block * panel.bytes_per_block;
}

}  // namespace tessera
