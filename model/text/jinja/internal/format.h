// Formats texts by a pattern: "%s and %d" % values, and "{} and {name}".format(...), like Python.
//
//   ASSIGN_OR_RETURN(const Value text, FormatFields(runtime, pattern, arguments));
//
// Unsupported features are refused by name. Thread-compatible.
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

// Formats in printf style. `single` is the value that may be a dict for %(name)s; undefined: no such value.
absl::StatusOr<Value> Format(Runtime& runtime, const Text& format, const std::vector<Value>& values, const Value& single);
absl::StatusOr<Value> FormatFields(Runtime& runtime, const Text& pattern, const Arguments& arguments);

}  // namespace tessera::jinja
