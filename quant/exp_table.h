// 2^x for x <= 0 as a table of FP16 numbers for gathers by a phone NPU's vector unit: the test-time scaling paper, section 5.2.1.
//
//   const ExpTable& table = ExpTable::Get();
//   uint16_t p = table.Of(FloatToHalf(score - largest));        // the FP16 bits of 2^(score - largest)
//
// The input is never positive (a softmax subtracts the largest score), so the sign bit is dropped: 32,768 entries, 64 KiB. Softmax of base
// 2 needs log2(e) in the scale of the scores. An entry is 2^x rounded to nearest even. NaN gives NaN, which a kernel on a phone would not
// notice. Thread-safe (constant data, made at the first use).
#pragma once

#include <array>
#include <cstdint>

#include "tessera/base/cpp20.h"

namespace tessera {

class ExpTable {
 public:
  static constexpr int kEntries = 1 << 15;

  static const ExpTable& Get();

  // Returns the FP16 bits of 2^x. `bits`: an FP16 number that is 0, negative or NaN; the sign bit is ignored.
  uint16_t Of(uint16_t bits) const { return entries_[bits & (kEntries - 1)]; }
  const std::array<uint16_t, kEntries>& entries() const { return entries_; }
  const float* floats() const { return floats_.data(); }   // The same kEntries numbers in FP32.

 private:
  ExpTable();

  std::array<uint16_t, kEntries> entries_;
  std::array<float, kEntries> floats_;
};

}  // namespace tessera
