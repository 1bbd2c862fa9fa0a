// Declares the products of rows with panels, compiled in separate files: one file per family of formats and kind of rows.
//
//   const auto product = Panels<LanesAvx2, panels::Q4_0>;
//   product(job);                                          // links panels_of_32_avx2.cc
//
// quant/kernels/panel_kernel.h has the definitions; quant/kernels/kernel_table.h collects the products of one instruction set.
#pragma once

#include "tessera/quant/activation.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {

// Multiplies the job's rows, groups of type Group, by the job's panels of one format. Ignores `job.fine`.
template <typename L, typename Format, typename Group>
void PanelsOf(const PanelJob& job);

// Multiplies the job's rows by the job's panels, with the product for the kind of rows (`job.fine`).
template <typename L, typename Format>
void Panels(const PanelJob& job) {
  job.fine ? PanelsOf<L, Format, FineActivationGroup>(job) : PanelsOf<L, Format, ActivationGroup>(job);
}

}  // namespace tessera
