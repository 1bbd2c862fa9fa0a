// Loops whose index is a constant, and functions that are never called but inlined: what keeps a kernel's sums in registers.
//
//   Unrolled(Constants<4>(), [&](auto i) TESSERA_INLINED { sums[i.value] = L::Zero(); });
//
// Such are the parts of a kernel that are large and there many times. A sanitizer's build calls them all the same: its checks make each
// copy of a kernel many times larger, and there is a copy for every format and number of rows, so that they took minutes to compile. Bits
// are the same: no operation depends on what is inlined.
#pragma once

#include <type_traits>
#include <utility>

#ifdef TESSERA_SANITIZED
#define TESSERA_INLINED
#else
#define TESSERA_INLINED __attribute__((always_inline))
#endif

namespace tessera {

template <int kCount>
using Constants = std::make_integer_sequence<int, kCount>;

// Calls f(constant) for each of Constants<kCount>. In a sanitizer's build it is one function, since each is a copy of the kernel to
// compile; otherwise one in another, by which g++ 12 makes products of two rows 2 % faster (tessera_bench products --kernels avx512).
template <int... kIndex, typename F>
inline TESSERA_INLINED void Unrolled(std::integer_sequence<int, kIndex...> constants, F f) {
#ifdef TESSERA_SANITIZED
  (void)constants;
  (f(std::integral_constant<int, kIndex>()), ...);
#else
  [&]<int... kInner>(std::integer_sequence<int, kInner...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, kInner>()), ...);
  }(constants);
#endif
}

}  // namespace tessera
