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
  }
  LOG(FATAL) << "block format " << static_cast<int>(format) << " has no panel layout";
}

int64_t PanelBytes(BlockFormat format, int64_t in_features) {
  const PanelFormat& panel = PanelFormatOf(format);
  CHECK_EQ(in_features % panel.inputs_per_block, 0);
  return in_features / panel.inputs_per_block * panel.bytes_per_block;
}

}  // namespace tessera
