// Values as text: str and repr of Python, and numbers as Python writes them.
//
//   ASSIGN_OR_RETURN(const Text text, runtime.Print(value));     // Runtime::Print and Represent are implemented in print.cc
//   FloatText(1e16) == "1e+16"
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "tessera/model/text/jinja/text.h"

namespace tessera::jinja {

std::string FloatText(double value);
Text Quote(const Text& text);  // As repr of a str in Python; what is escaped keeps its origin.

}  // namespace tessera::jinja
