// What a sample answers: the number, formula or program in a text that a model wrote.
//
//   ExtractNumber("She makes 9 * 2 = $<<9*2=18>>18 a day.\n#### 18");        // "18"
//   ExtractFormula("Thus the value is $\\boxed{\\frac{14}{3}}$.");            // "\\frac{14}{3}"
//   ExtractCode("Here it is:\n```python\nprint(1)\n```");                    // "print(1)\n"
//
// Numbers and formulas are looked for in this order; the first place where one is found counts, and of several there the last:
//
//   number: "#### 42" (Cobbe et al. 2021, grade_school_math/dataset.py)   formula: \boxed{...} or \fbox{...} (Hendrycks et al. 2021,
//           \boxed{42}                                                            last_boxed_only_string)
//           "The answer is 42." (Wei et al. 2022; lm-eval, gsm8k-cot),            "The final answer is X. I hope it is correct."
//           or a line "A: 42" (the recorded solutions of grade-school-math)       (Lewkowycz et al. 2022; lm-eval, minerva_math),
//           the last number (lm-eval, gsm8k, flexible-extract)                    or "The answer is X"
//                                                                                 the last number
//
// As there, commas and a dollar sign before a number go. Unlike there, a minus that follows a letter, digit or bracket is no sign: "16-3".
// Thread-safe (pure functions).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "tessera/base/cpp20.h"

namespace tessera {

std::optional<std::string> ExtractNumber(absl::string_view text);
std::optional<std::string> ExtractFormula(absl::string_view text);

// The first fenced block that defines something or, if none does, the first; its fence may be left open. Without a fence, the text itself.
std::string ExtractCode(absl::string_view text);

// The text up to the first of these that it holds.
absl::string_view CutAt(absl::string_view text, absl::Span<const absl::string_view> stops);

// All numbers in a text, as ExtractNumber reads them: "-1234.5", "3/4".
std::vector<std::string> NumbersIn(absl::string_view text);

}  // namespace tessera
