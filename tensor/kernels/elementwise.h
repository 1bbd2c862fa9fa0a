// exp, SiLU and GELU on sixteen lanes, with the same operations in the same order for every instruction set.
//
//   L::Float probability = ExpLanes<L>(L::Sub(score, largest));
//
// With vector lanes, include only from kernel files (*_avx2.cc, *_avx512.cc, *_neon.cc).
#pragma once

#include "tessera/tensor/kernels/lanes_portable.h"

namespace tessera {

// e^x, relative error below 2e-7. Below -87 the result is 0 (such a small probability adds nothing to a sum of FP32); above 88.4, infinity.
// Cody-Waite reduction by ln 2 in two parts, then a degree-6 polynomial in Horner form (Muller, Elementary Functions, ch. 11).
template <typename L>
inline __attribute__((always_inline)) typename L::Float ExpLanes(typename L::Float x) {
  using Float = typename L::Float;
  const Float clamped = L::Max(L::Min(x, L::Set(89.0f)), L::Set(-87.0f));
  const Float n = L::Round(L::Mul(clamped, L::Set(1.44269504f)));
  Float r = L::Fma(n, L::Set(-0.693359375f), clamped);
  r = L::Fma(n, L::Set(2.12194440e-4f), r);
  Float p = L::Set(1.9875691500e-4f);
  p = L::Fma(p, r, L::Set(1.3981999507e-3f));
  p = L::Fma(p, r, L::Set(8.3334519073e-3f));
  p = L::Fma(p, r, L::Set(4.1665795894e-2f));
  p = L::Fma(p, r, L::Set(1.6666665459e-1f));
  p = L::Fma(p, r, L::Set(5.0000001201e-1f));
  const Float e = L::Add(L::Fma(L::Mul(r, r), p, r), L::Set(1.0f));
  return L::ZeroBelow(x, L::Set(-87.0f), L::ScaleByPowerOfTwo(e, n));
}

// x / (1 + e^-x).
template <typename L>
inline __attribute__((always_inline)) typename L::Float SiluLanes(typename L::Float x) {
  return L::Div(x, L::Add(L::Set(1.0f), ExpLanes<L>(L::Negate(x))));
}

// GELU's tanh form, 0.5 x (1 + tanh(u)) with u = sqrt(2/pi) (x + 0.044715 x^3), written as x / (1 + e^-2u).
template <typename L>
inline __attribute__((always_inline)) typename L::Float GeluTanhLanes(typename L::Float x) {
  using Float = typename L::Float;
  const Float cubic = L::Fma(L::Mul(L::Mul(x, x), x), L::Set(0.044715f), x);
  return L::Div(x, L::Add(L::Set(1.0f), ExpLanes<L>(L::Mul(cubic, L::Set(-1.5957691216057308f)))));
}

}  // namespace tessera
