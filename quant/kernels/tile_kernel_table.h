// One instruction set's table of tile kernels: tiles.cc.in makes it for each instruction set, by its lanes and nothing else.
#pragma once

#include "tessera/quant/kernels/tile_kernel.h"
#include "tessera/quant/kernels/tile_rows.h"
#include "tessera/quant/tile_kernels.h"

namespace tessera {

template <typename L>
constexpr TileKernels TileKernelTable() {
  return {L::kPath, MultiplyTiles<L>, RoundTileRow<L>};
}

extern const TileKernels kTilesPortable, kTilesAvx2, kTilesAvx512, kTilesNeon;

}  // namespace tessera
