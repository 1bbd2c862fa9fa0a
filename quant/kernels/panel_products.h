// Declares the products of rows with panels, which are compiled in files of their own: a family of formats and a kind of rows each.
//
//   const auto product = Panels<LanesAvx2, panels::Q4_0>;
//   product(job);                                          // links panels_of_32_avx2.cc
//
// quant/kernels/panel_kernel.h has the definitions; quant/kernels/kernel_table.h collects the products of one instruction set.
#pragma once

#include "tessera/quant/activation.h"
#include "tessera/quant/matmul_kernels.h"

namespace tessera {

// Multiplies the job's rows, groups of type Group, with its panels of one format. `job.fine` says nothing here.
template <typename L, typename Format, typename Group>
void PanelsOf(const PanelJob& job);

// Multiplies the job's rows with its panels, by the product for the kind of its rows.
template <typename L, typename Format>
void Panels(const PanelJob& job) {
  job.fine ? PanelsOf<L, Format, FineActivationGroup>(job) : PanelsOf<L, Format, ActivationGroup>(job);
}

}  // namespace tessera
