// The table of the host's loops for one instruction set. Each rows_<path>.cc only instantiates RowKernelTable with its lanes.
#pragma once

#include "tessera/npu/host/kernels/adapter_kernel.h"
#include "tessera/npu/host/kernels/attention_kernel.h"
#include "tessera/npu/host/kernels/half_attention_kernel.h"

namespace tessera {

template <typename L>
constexpr RowKernels RowKernelTable() {
  return {RmsNormRow<L>,   AddRows<L>,   GatedRow<L>, RopeRow<L>,   StoreHead<L>, AttendTile<L>,
          AttendHalves<L>, ScorePart<L>, SumPart<L>,  AdaptDown<L>, AdaptUp<L>};
}

}  // namespace tessera
