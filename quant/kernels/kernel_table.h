// The kernel table of one instruction set. matmul.cc.in instantiates the table for each instruction set with its lanes.
#pragma once

#include "tessera/quant/internal/panels/blocks_of_256.h"
#include "tessera/quant/internal/panels/blocks_of_32.h"
#include "tessera/quant/internal/panels/coded.h"
#include "tessera/quant/internal/panels/floats.h"
#include "tessera/quant/kernels/float_kernel.h"
#include "tessera/quant/kernels/panel_products.h"
#include "tessera/quant/kernels/peak_kernel.h"
#include "tessera/quant/kernels/quantize_kernel.h"

namespace tessera {

template <typename L, typename... Blocks>
constexpr MatMulKernels TableOf() {
  static_assert(3 + sizeof...(Blocks) == kBlockFormats, "one kernel a format");
  return {L::kPath,
          {FloatPanels<L, panels::F32>, FloatPanels<L, panels::F16>, FloatPanels<L, panels::BF16>, Panels<L, Blocks>...},
          QuantizeRow<L, ActivationGroup>,
          QuantizeRow<L, FineActivationGroup>,
          PeakKernel<L>::kLoops};
}

// In the order of BlockFormat. Formats with the same storage share a kernel.
template <typename L>
constexpr MatMulKernels KernelTable() {
  using namespace panels;
  return TableOf<L, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL,
                 Coded256, Coded256, Coded256, Coded256, Coded256, Coded256, Coded256, Coded256,  // IQ1_S to IQ4_XS.
                 Ternary, Ternary, Fp4, Fp4, Q4_0, Q4_0,                                          // TQ1_0 to Q2_0.
                 T2, T3>();
}

extern const MatMulKernels kMatMulPortable, kMatMulAvx2, kMatMulAvx512, kMatMulNeon;

}  // namespace tessera
