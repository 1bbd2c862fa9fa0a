// Prints values as text: str and repr of Python, and numbers in Python's form.
//
//   ASSIGN_OR_RETURN(const Text text, runtime.Print(value));     // Runtime::Print and Represent are implemented in print.cc
//   FloatText(1e16) == "1e+16"
//
// Thread-compatible.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

std::string FloatText(double value);
// Quotes like repr of a str in Python. Escaped characters keep their origin.
absl::StatusOr<Text> Quote(Runtime& runtime, const Text& text);

}  // namespace tessera::jinja
