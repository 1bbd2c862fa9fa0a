// Values as text: str and repr of Python, and numbers as Python writes them.
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
absl::StatusOr<Text> Quote(Runtime& runtime, const Text& text);  // As repr of a str in Python; what is escaped keeps its origin.

}  // namespace tessera::jinja
