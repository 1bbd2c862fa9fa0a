// Loops whose index is a constant, and functions that have no calls: what keeps a kernel's sums in registers.
//
//   Unrolled(Constants<4>(), [&](auto i) TESSERA_FLAT { sums[i.value] = L::Zero(); });
//
// A sanitizer's build calls such functions. Its checks make each copy of a kernel many times larger, and there is a copy for every
// format and number of rows: inlined, they took minutes to compile. Bits are the same: no operation depends on what is inlined.
#pragma once

#include <type_traits>
#include <utility>

#ifdef TESSERA_SANITIZED
#define TESSERA_FLAT
#else
#define TESSERA_FLAT __attribute__((always_inline))
#endif

namespace tessera {

template <int kCount>
using Constants = std::make_integer_sequence<int, kCount>;

// Calls f(constant) for each of Constants<kCount>. One function, not one in another: each would be a copy of the kernel to compile.
template <int... kIndex, typename F>
inline TESSERA_FLAT void Unrolled(std::integer_sequence<int, kIndex...>, F f) {
  (f(std::integral_constant<int, kIndex>()), ...);
}

}  // namespace tessera
