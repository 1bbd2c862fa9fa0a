#include "tessera/quant/exp_table.h"

#include <cstddef>
#include <limits>

#include "tessera/base/elementary.h"
#include "tessera/base/half.h"

namespace tessera {

const ExpTable& ExpTable::Get() {
  static const ExpTable* const table = new ExpTable;
  return *table;
}

ExpTable::ExpTable() : entries_(), floats_() {
  for (int index = 0; index < kEntries; ++index) {
    const float x = HalfToFloat(static_cast<uint16_t>(index | kEntries));
    // Rounded by way of FP32: no power is so near the middle of two halves that rounding twice gives another number. The test checks all
    // powers.
    entries_[static_cast<size_t>(index)] = FloatToHalf(x == -std::numeric_limits<float>::infinity()
                                                           ? 0.0f
                                                           : static_cast<float>(elementary::Pow(2, static_cast<double>(x))));
    floats_[static_cast<size_t>(index)] = HalfToFloat(entries_[static_cast<size_t>(index)]);
  }
}

}  // namespace tessera
