// The table of tile kernels of one instruction set. tiles.cc.in instantiates the table for each instruction set with its lanes.
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
