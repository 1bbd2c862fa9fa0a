// The panel formats, one object each, defined in the file of their family (blocks of 32, of 256, coded, floats). Only for panel_format.cc,
// which selects the format. A new format is one line here and one line in panel_format.cc.
#pragma once

#include "tessera/quant/internal/panels/panel_format.h"

namespace tessera::panels {

extern const PanelFormat kF32, kF16, kBF16, kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kIQ4_NL, kIQ1_S, kIQ1_M,
    kIQ2_XXS, kIQ2_XS, kIQ2_S, kIQ3_XXS, kIQ3_S, kIQ4_XS, kTQ1_0, kTQ2_0, kMXFP4, kNVFP4, kQ1_0, kQ2_0, kT2, kT3;

}  // namespace tessera::panels
