// Loops whose index is a constant, and functions that are never called but inlined: what keeps a kernel's sums in registers.
//
//   Unrolled(Constants<4>(), [&](auto i) TESSERA_INLINED { sums[i.value] = L::Zero(); });
//
// Such are the parts of a kernel that are large and there many times. With TESSERA_KERNELS_CALL these parts are functions that are called
// instead. The portable kernels have that flag, since their sums lie in memory anyway, and compile faster with it. So has a sanitizer's
// build, whose checks made kernels take minutes to compile. Bits are the same: no operation depends on inlining.
#pragma once

#include <type_traits>
#include <utility>

#ifdef TESSERA_SANITIZED
#define TESSERA_KERNELS_CALL
#endif

#ifdef TESSERA_KERNELS_CALL
#define TESSERA_INLINED
#else
#define TESSERA_INLINED __attribute__((always_inline))
#endif

namespace tessera {

template <int kCount>
using Constants = std::make_integer_sequence<int, kCount>;

// Calls f(constant) for each of Constants<kCount>. With TESSERA_KERNELS_CALL it is one function, since each is a copy of the kernel to
// compile; otherwise one in another, by which g++ 12 makes products of two rows 2 % faster (tessera_bench products --kernels avx512).
template <int... kIndex, typename F>
inline TESSERA_INLINED void Unrolled(std::integer_sequence<int, kIndex...> constants, F f) {
#ifdef TESSERA_KERNELS_CALL
  (void)constants;
  (f(std::integral_constant<int, kIndex>()), ...);
#else
  [&]<int... kInner>(std::integer_sequence<int, kInner...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, kInner>()), ...);
  }(constants);
#endif
}

}  // namespace tessera
