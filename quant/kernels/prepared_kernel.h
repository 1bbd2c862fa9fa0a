// Multiplies rows with prepared panels (quant/kernels/prepared_panel.h): formats that are prepared to the same bytes share one product.
//
//   template void RunPreparedPass<LanesAvx2, PreparedOf<panels::Q5_1>, ActivationGroup>(int, const std::byte*, const PanelPassRows&,
//                                                                                       const Prefetch&);   // Q5_K's, too
//
// Include only from prepared*.cc.in, which list each kind of prepared panel once.
#pragma once

#include "tessera/quant/kernels/panel_kernel.h"

namespace tessera {

// Returns the least rows that a pass has where panels are prepared.
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
