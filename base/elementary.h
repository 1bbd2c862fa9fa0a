// exp, log, pow, sin, cos and tanh in double precision, with the same bits on every machine.
//
//   double weight = elementary::Exp((logit - largest) / temperature);
//   auto [sine, cosine] = elementary::SinCos(position * frequency);
//
// A C library's versions differ in the last bit from one release and one CPU to the next; a model's output must not. These functions use
// only IEEE additions, multiplications and divisions in a written order (the tree is built with -ffp-contract=off).
//
// Errors of results: at most 2 units in the last place, subnormal results included, unless another bound is given below. NaN in, NaN out;
// infinities, zeros and overflow as in the C standard. No errno and no floating-point flags are promised.
//
// Threads: thread-safe (pure functions). Cost: some 10 ns each, Pow 0.5 microseconds (Pow computes the logarithm to twice the precision).
#pragma once

#include "tessera/base/cpp20.h"

namespace tessera::elementary {

double Exp(double x);
double Log(double x);            // Log(0) is -infinity; a negative x gives NaN.
double Pow(double x, double y);  // Like C's pow: x^0 and 1^y are 1 even for NaN; x < 0 needs a whole y.
double Tanh(double x);

// For |x| <= 2^40: absolute error below 2e-16 (a position times a frequency is below 2^31). Beyond 2^40: some number in [-1, 1], equal on
// every machine, with no other promise. Infinity gives NaN.
struct SineCosine {
  double sine;
  double cosine;
};
SineCosine SinCos(double x);
inline double Sin(double x) { return SinCos(x).sine; }
inline double Cos(double x) { return SinCos(x).cosine; }

}  // namespace tessera::elementary
