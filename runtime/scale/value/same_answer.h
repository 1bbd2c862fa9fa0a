// Whether two answers to a problem of mathematics say the same.
//
//   SameAnswer("\\frac{1}{2}", "0.5");                      // true
//   SameAnswer("$\\$32,\\!348$", "32348 dollars");         // true
//   SameAnswer("(1, 2)", "(2, 1)");                         // false: an ordered pair
//   SameAnswer("3 \\pm 2\\sqrt{2}", "3-2\\sqrt2, 3+2\\sqrt2");   // true: both values, in any order
//
// First both are cleaned as the field's harnesses do (Hendrycks et al. 2021, math_equivalence.py; Lewkowycz et al. 2022, appendix D;
// lm-eval, minerva_math): dollar, percent and degree signs, LaTeX's spaces and sizes, thousands' commas ("27,720"; inside of brackets a
// comma separates), "x =" before a value, units behind one and a last full stop go; \dfrac is \frac. Then lists are compared part by part:
// in round or square brackets by their order, so intervals and points; in braces, or without brackets, in any order; unions in any order;
// matrices cell by cell. What is left is compared exactly where expression.h can read both, else letter by letter without spaces.
//
// So these stay different: "50%" and "0.5", since the sign goes (50% and 50 are the same); equal values of functions ("\cot x" and
// "\cos x / \sin x"); numbers in another base ("52_8" and "42"); a rounded number and the exact one.
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/strings/string_view.h"

#include "tessera/base/cpp20.h"

namespace tessera {

bool SameAnswer(absl::string_view a, absl::string_view b);

// Cleaned, as it is read then.
std::string CleanAnswer(absl::string_view answer);

}  // namespace tessera
