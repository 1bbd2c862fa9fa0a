// Multiplies rows by prepared panels (quant/kernels/prepared_panel.h): formats with equal prepared bytes share one product.
//
//   template void RunPreparedPass<LanesAvx2, PreparedOf<panels::Q5_1>, ActivationGroup>(int, const std::byte*, const PanelPassRows&,
//                                                                                       const Prefetch&);   // Q5_K's, too
//
// Include only from prepared*.cc.in; each kind of prepared panel is listed there once.
#pragma once

#include "tessera/quant/kernels/panel_kernel.h"

namespace tessera {

// Returns the fewest rows of a pass with prepared panels.
template <typename Products>
static constexpr int FewestPreparedRows() {
  int fewest = kRowsOfPass<Products>;
  for (int64_t rows = kRowsToPrepareFor; rows < kRowsToPrepareFor + 2 * kMostRowsAtOnce; ++rows) {
    for (int64_t left = rows; left > 0; left -= RowsOfPass<Products>(left)) fewest = std::min(fewest, RowsOfPass<Products>(left));
  }
  return fewest;
}

template <typename L, typename Prepared, typename Group>
void RunPreparedPass(int rows, const std::byte* panel, const PanelPassRows& pass, const Prefetch& prefetch) {
  RunPass<L, Prepared, Group, FewestPreparedRows<ProductsOf<L, Group>>()>(rows, panel, pass, prefetch);
}

}  // namespace tessera
