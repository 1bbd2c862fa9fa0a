// Loops with a constant index, and functions that are always inlined, to keep a kernel's sums in registers.
//
//   Unrolled(Constants<4>(), [&](auto i) TESSERA_INLINED { sums[i.value] = L::Zero(); });
//
// TESSERA_INLINED marks parts of a kernel that are large and repeated many times. With TESSERA_KERNELS_CALL these parts are called instead
// of inlined. The portable kernels have that flag: their sums are in memory anyway, and compilation is faster. A sanitizer's build has the
// flag, too, because its checks made kernels take minutes to compile. Bits are equal: no operation depends on inlining.
#pragma once

#include <type_traits>
#include <utility>

#if defined(TESSERA_SANITIZED) && !defined(TESSERA_KERNELS_CALL)
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

// Calls f(constant) for each of Constants<kCount>. With TESSERA_KERNELS_CALL Unrolled is one function, since each copy of the kernel must
// be compiled. Otherwise Unrolled is one function in another: so g++ 12 makes products of two rows 2 % faster (tessera_bench products
// --kernels avx512).
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
