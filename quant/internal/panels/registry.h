// The panel formats, one object each, defined in the file of their family (blocks of 32, of 256, floats). Only for
// panel_format.cc, which chooses among them:
// a new format is a line here and a line there.
#pragma once

#include "tessera/quant/internal/panels/panel_format.h"

namespace tessera::panels {

extern const PanelFormat kF32, kF16, kBF16, kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kIQ4_NL;

}  // namespace tessera::panels
