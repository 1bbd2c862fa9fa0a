// One instruction set's table of kernels: each matmul_<path>.cc instantiates this with its lanes and nothing else.
#pragma once

#include "tessera/quant/kernels/float_kernel.h"
#include "tessera/quant/kernels/panel_kernel.h"
#include "tessera/quant/kernels/quantize_kernel.h"
#include "tessera/quant/panels/blocks_of_256.h"
#include "tessera/quant/panels/blocks_of_32.h"
#include "tessera/quant/panels/floats.h"

namespace tessera {

// In the order of BlockFormat.
template <typename L>
constexpr MatMulKernels KernelTable(KernelPath path) {
  return {path,
          {FloatPanels<L, panels::F32>, FloatPanels<L, panels::F16>, FloatPanels<L, panels::BF16>, Panels<L, panels::Q4_0>,
           Panels<L, panels::Q4_1>, Panels<L, panels::Q5_0>, Panels<L, panels::Q5_1>, Panels<L, panels::Q8_0>,
           Panels<L, panels::Q2_K>, Panels<L, panels::Q3_K>, Panels<L, panels::Q4_K>, Panels<L, panels::Q5_K>,
           Panels<L, panels::Q6_K>, Panels<L, panels::IQ4_NL>},
          QuantizeRow<L>};
}

extern const MatMulKernels kMatMulPortable, kMatMulAvx2, kMatMulAvx512;

}  // namespace tessera
