// Checked arithmetic on sizes from outside: a product, sum or rounding that does not fit is a Status, never a wrapped number.
//
//   ASSIGN_OR_RETURN(int64_t bytes, CheckedMul(rows, row_bytes));
//   ASSIGN_OR_RETURN(int64_t padded, CheckedAlignUp(bytes, 4096));
//
// Sizes from files or flags are multiplied only with these functions. Thread-safe (pure functions).
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns a * b. OutOfRange (naming both factors) if either is negative or the product does not fit in int64.
inline absl::StatusOr<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t product;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
    return absl::OutOfRangeError(absl::StrCat("size ", a, " x ", b, " does not fit in 63 bits"));
  }
  return product;
}

// Returns a + b, under the same rule as CheckedMul.
inline absl::StatusOr<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) {
    return absl::OutOfRangeError(absl::StrCat("size ", a, " + ", b, " does not fit in 63 bits"));
  }
  return sum;
}

// Returns the smallest multiple of `alignment` that is >= value. REQUIRES: alignment > 0.
inline absl::StatusOr<int64_t> CheckedAlignUp(int64_t value, int64_t alignment) {
  absl::StatusOr<int64_t> sum = CheckedAdd(value, alignment - 1);
  if (!sum.ok()) return sum.status();
  return *sum / alignment * alignment;
}

// Returns a / b rounded up, for sizes already checked. REQUIRES: a >= 0, b > 0.
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// Returns the smallest multiple of `alignment` >= value, for sizes already checked. REQUIRES: value >= 0, alignment > 0.
constexpr int64_t AlignUp(int64_t value, int64_t alignment) { return CeilDiv(value, alignment) * alignment; }

}  // namespace tessera
